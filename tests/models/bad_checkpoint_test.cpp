// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "io/checkpoint_folder.h"
#include "io/json.h"
#include "io/safetensors_file.h"
#include "io/safetensors_writer.h"
#include "io/temporary_folder.h"
#include "models/fixture_case.h"
#include "models/model_registry.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;

struct StoredTensor {
  DType dtype;
  Shape shape;
  std::vector<std::byte> bytes;
};

/// A fixture's parts, to be broken before writing it out again.
struct Parts {
  io::Json config;
  std::map<std::string, StoredTensor> tensors;
};

Parts read_parts(const std::string& fixture) {
  const fs::path folder = fs::path(LANNER_GOLDEN_DIR) / "models" / fixture;
  Parts parts{io::load_json(folder / "config.json"), {}};
  const io::SafetensorsFile file(folder / "model.safetensors");
  for (const io::TensorEntry& entry : file.tensors())
    parts.tensors[entry.name] = {entry.dtype, entry.shape, {entry.bytes.begin(), entry.bytes.end()}};
  return parts;
}

void write_parts(const Parts& parts, const fs::path& folder) {
  std::ofstream(folder / "config.json") << parts.config.dump();
  std::vector<io::TensorDeclaration> declarations;
  for (const auto& [name, tensor] : parts.tensors) declarations.push_back({name, tensor.dtype, tensor.shape});
  io::SafetensorsWriter writer(folder / "model.safetensors", declarations, {});
  for (const auto& [name, tensor] : parts.tensors) writer.append(name, tensor.bytes);
  writer.finish();
}

/// The error that loading a broken copy of a fixture gives; empty when it loads.
std::string load_error(const std::string& fixture, const std::function<void(Parts&)>& damage) {
  Parts parts = read_parts(fixture);
  damage(parts);
  const io::TemporaryFolder folder;
  write_parts(parts, folder.path());
  try {
    const device::Ops ops = device::cpu_ops(Isa::kReference);
    ThreadPool pool(1);
    models::load_model(io::Checkpoint(folder.path()), {.ops = ops, .pool = pool});
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

constexpr const char* kGemma = "gemma4/g1_e_ple_kvshare";
constexpr const char* kGemmaMoe = "gemma4/g3_moe";
constexpr const char* kQwen = "qwen3_5/q2_dense_grouped_untied";

void check_message(const std::string& message, std::initializer_list<const char*> parts) {
  CAPTURE(message);
  for (const char* part : parts) {
    CAPTURE(part);
    CHECK(message.find(part) != std::string::npos);
  }
  CHECK(message.find('\n') == std::string::npos);
}

const std::string kQ = "model.language_model.layers.0.self_attn.q_proj.weight";

}  // namespace

TEST_CASE("an undamaged copy loads") {
  for (const char* fixture : {kGemma, kGemmaMoe, kQwen}) CHECK(load_error(fixture, [](Parts&) {}) == "");
}

TEST_CASE("an unknown model_type and a drafter are refused with the types that run") {
  check_message(load_error(kGemma, [](Parts& p) { p.config["model_type"] = "llama"; }),
                {"config.json", "llama", "qwen3_5_moe"});
  check_message(load_error(kGemma, [](Parts& p) { p.config["model_type"] = "gemma4_assistant"; }),
                {"gemma4_assistant", "drafter"});
  check_message(load_error(kGemma, [](Parts& p) { p.config.erase("model_type"); }),
                {"config.json", "model_type"});
}

TEST_CASE("a missing tensor is named") {
  check_message(load_error(kGemma, [](Parts& parts) { parts.tensors.erase(kQ); }), {kQ.c_str()});
}

TEST_CASE("a tensor of the wrong shape is named with what was found, what was expected and why") {
  const auto damage = [](Parts& parts) { parts.config["text_config"]["num_attention_heads"] = 8; };
  check_message(load_error(kGemma, damage),
                {"model.safetensors", kQ.c_str(), "[128, 96]", "[256, 96]", "num_attention_heads 8"});
}

TEST_CASE("a weight of a type that needs scales is refused when it has none") {
  const auto damage = [](Parts& parts) {
    parts.tensors[kQ] = {DType::kU32, {128, 12}, std::vector<std::byte>(128 * 12 * 4)};
  };
  check_message(load_error(kGemma, damage), {kQ.c_str(), "U32", "scales"});
}

TEST_CASE("config fields of the wrong type, missing or contradictory are named") {
  check_message(load_error(kGemma, [](Parts& p) { p.config["text_config"]["hidden_size"] = "abc"; }),
                {"config.json", "text_config.hidden_size", "abc"});
  check_message(load_error(kGemma, [](Parts& p) { p.config["text_config"]["layer_types"][0] = "round"; }),
                {"config.json", "layer_types"});
  check_message(load_error(kGemma, [](Parts& p) { p.config["text_config"]["layer_types"].erase(0); }),
                {"config.json", "layer_types", "8 entries"});
  check_message(load_error(kGemma, [](Parts& p) { p.config["text_config"]["num_kv_shared_layers"] = 8; }),
                {"config.json", "num_kv_shared_layers", "less than"});
  check_message(load_error(kGemma, [](Parts& p) { p.config["text_config"]["num_attention_heads"] = 3; }),
                {"config.json", "num_attention_heads"});
  check_message(load_error(kGemma, [](Parts& p) { p.config["text_config"]["hidden_activation"] = "relu"; }),
                {"config.json", "hidden_activation", "relu"});
  check_message(load_error(kGemmaMoe, [](Parts& p) { p.config["text_config"]["top_k_experts"] = 99; }),
                {"config.json", "top_k_experts", "at most"});
  check_message(load_error(kQwen, [](Parts& p) { p.config["rope_parameters"].erase("rope_theta"); }),
                {"config.json", "rope_theta"});
  check_message(load_error(kQwen, [](Parts& p) { p.config["linear_num_value_heads"] = 5; }),
                {"config.json", "linear_num_value_heads", "multiple"});
  check_message(load_error(kQwen, [](Parts& p) { p.config["num_hidden_layers"] = -1; }),
                {"config.json", "num_hidden_layers", "-1"});
  check_message(load_error(kQwen, [](Parts& p) { p.config["vocab_size"] = 1e30; }),
                {"config.json", "vocab_size"});
}

TEST_CASE("a head size that no weight could have is refused before tables of that size are made") {
  check_message(load_error(kGemma, [](Parts& p) { p.config["text_config"]["head_dim"] = 2147483648; }),
                {"config.json", "text_config.head_dim", "65536"});
  check_message(load_error(kQwen, [](Parts& p) { p.config["head_dim"] = 2147483648; }),
                {"config.json", "head_dim", "65536"});
}

TEST_CASE("a partial rotary factor of 0 turns nothing, which the first position never shows") {
  for (const char* fixture : {kGemma, kQwen}) {
    CAPTURE(fixture);
    Parts parts = read_parts(fixture);
    const io::TemporaryFolder turning, fixed;
    write_parts(parts, turning.path());
    if (parts.config.contains("text_config"))
      parts.config["text_config"]["rope_parameters"]["full_attention"]["partial_rotary_factor"] = 0;
    else
      parts.config["rope_parameters"]["partial_rotary_factor"] = 0;
    write_parts(parts, fixed.path());
    const auto logits = [](const fs::path& folder) {
      Runner runner(folder, Isa::kReference, 1);
      cache::SequenceCache cache = runner.new_cache();
      return runner.logits(cache, std::vector<TokenId>{5, 6, 7});
    };
    const auto expected = logits(turning.path());
    const auto found = logits(fixed.path());
    const auto row = static_cast<std::ptrdiff_t>(expected.size() / 3);
    CHECK(std::equal(expected.begin(), expected.begin() + row, found.begin()));
    CHECK(found != expected);
  }
}

TEST_CASE("an untied head that the files lack is missing, not replaced by the embeddings") {
  check_message(load_error(kGemma, [](Parts& p) { p.config["tie_word_embeddings"] = false; }),
                {"lm_head.weight", "missing"});
}

TEST_CASE("a tensor that belongs to no part of the model is reported, the wrong graph is not run") {
  const auto damage = [](Parts& parts) {
    parts.tensors["model.language_model.layers.0.self_attn.q_bias"] = {
        DType::kF32, {1}, std::vector<std::byte>(4)};
  };
  check_message(load_error(kGemma, damage), {"model.safetensors", "q_bias"});
}

TEST_CASE("quantization metadata that contradicts the tensors is named") {
  // [128, 96] at 4 bits in groups of 32: 12 words and 3 scales a row.
  const auto pack = [](Parts& parts, std::int64_t words, std::int64_t groups) {
    const std::string module = kQ.substr(0, kQ.size() - std::string("weight").size());
    const auto bytes = [](std::int64_t count) {
      return std::vector<std::byte>(static_cast<std::size_t>(count));
    };
    parts.tensors[kQ] = {DType::kU32, {128, words}, bytes(128 * words * 4)};
    parts.tensors[module + "scales"] = {DType::kBF16, {128, groups}, bytes(128 * groups * 2)};
    parts.tensors[module + "biases"] = {DType::kBF16, {128, groups}, bytes(128 * groups * 2)};
  };
  const io::Json four_bits = {{"bits", 4}, {"group_size", 32}};
  CHECK(load_error(kGemma, [&](Parts& p) {
          pack(p, 12, 3);
          p.config["quantization"] = four_bits;
        }) == "");
  check_message(load_error(kGemma,
                           [&](Parts& p) {
                             pack(p, 12, 3);
                             p.config["quantization"] = {{"bits", 8}, {"group_size", 32}};
                           }),
                {kQ.c_str(), "4 bits in groups of 32", "8 bits in groups of 32"});
  check_message(load_error(kGemma, [&](Parts& p) { pack(p, 13, 3); }), {kQ.c_str(), "13 words"});
  check_message(load_error(kGemma, [&](Parts& p) { pack(p, 12, 6); }), {kQ.c_str(), "groups of 16"});
  check_message(load_error(kGemma,
                           [&](Parts& p) {
                             pack(p, 12, 3);
                             p.config["quantization"] = four_bits;
                             p.config["quantization"]["language_model.model.layers.0.self_attn.q_proj"] =
                                 false;
                           }),
                {"q_proj.scales", "not quantized"});
  check_message(load_error(kGemma,
                           [&](Parts& p) {
                             p.config["quantization"] = four_bits;
                             p.config["quantization"]["language_model.model.layers.0.self_attn.q_proj"] =
                                 four_bits;
                           }),
                {kQ.c_str(), "no \"layers.0.self_attn.q_proj.scales\""});
  check_message(load_error(kGemma,
                           [&](Parts& p) {
                             pack(p, 12, 3);
                             p.config["quantization"] = four_bits;
                             p.config["quantization"]["language_model.model.layers.0.self_attn.q_proj"] = 8;
                           }),
                {"config.json", "q_proj is 8", "an object"});
  check_message(load_error(kGemma,
                           [&](Parts& p) {
                             p.config["quantization_config"] = {{"quant_method", "awq"}};
                           }),
                {"config.json", "quant_method", "awq", "lanner quantize"});
}

}  // namespace lanner::test
