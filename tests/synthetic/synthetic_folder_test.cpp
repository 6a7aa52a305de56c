// SPDX-License-Identifier: MIT
#include "synthetic/synthetic_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "core/arena.h"
#include "core/error.h"
#include "engine/loaded_model.h"
#include "io/temporary_folder.h"
#include "layers/step.h"
#include "synthetic/presets.h"
#include "synthetic/synthetic_tensor.h"

namespace lanner::synthetic {
namespace {

std::filesystem::path tale(const io::Json& config) {
  return std::filesystem::path(LANNER_MODELS_DIR) / (is_gemma4(config) ? "tale-gemma4" : "tale-qwen3_5");
}

std::uint64_t text_parameters(const io::Json& config) {
  std::uint64_t total = 0;
  for (const SyntheticTensor& tensor : is_gemma4(config) ? gemma4_tensors(config) : qwen3_5_tensors(config))
    if (!tensor.name.starts_with("mtp.")) total += static_cast<std::uint64_t>(tensor.shape.element_count());
  return total;
}

/// The dtype and shape of every tensor of a folder.
std::map<std::string, std::string> layout(const std::filesystem::path& folder) {
  std::map<std::string, std::string> result;
  const io::Checkpoint checkpoint(folder);
  for (const io::TensorEntry& tensor : checkpoint.tensors())
    result[tensor.name] = std::string(name(tensor.dtype)) + to_string(tensor.shape);
  return result;
}

/// Root mean square of the logits that follow a few tokens.
double logit_size(const std::filesystem::path& folder, device::Compute compute) {
  const engine::LoadedModel loaded(folder, {.isa = detect_isa(), .compute = compute, .threads = 1});
  device::Stream stream(device::cpu_kernels(loaded.ops().isa), 1);
  Arena arena;
  cache::SequenceCache cache({.layers = loaded.model().cache_layers(), .kv_type = device::KvType::kF32});
  const std::vector<TokenId> ids = {5, 300, 77, 1024, 9};
  const std::int32_t last = 4;
  const layers::Group group{.cache = &cache, .ids = ids, .wanted = {&last, 1}};
  layers::Step step(loaded.ops(), stream, arena, {&group, 1});
  const Tensor logits = loaded.model().logits(step, loaded.model().forward(step));
  double sum = 0;
  for (const float z : logits.floats()) sum += double(z) * z;
  return std::sqrt(sum / static_cast<double>(logits.element_count()));
}

}  // namespace

TEST_CASE("synth: the presets have the published numbers of text parameters") {
  // In millions. Qwen: the model cards' totals; Gemma: tables and body as the architecture page counts them.
  const std::map<std::string, double> millions = {{"qwen3.5-0.8b", 752.4}, {"qwen3.5-2b", 1881.8},
                                                  {"qwen3.5-4b", 4205.8},  {"qwen3.5-9b", 8953.8},
                                                  {"qwen3.5-27b", 26896},  {"qwen3.5-35b-a3b", 34660}};
  for (const auto& [name, expected] : millions) {
    CAPTURE(name);
    const auto config = preset_config(name);
    REQUIRE(config);
    CHECK(static_cast<double>(text_parameters(*config)) / 1e6 == doctest::Approx(expected).epsilon(0.0005));
  }
  CHECK(preset_names().size() == 11);
  for (const std::string_view name : preset_names())
    CHECK(text_parameters(*preset_config(name)) > 700'000'000);
  CHECK_FALSE(preset_config("qwen3.5-1b"));
}

TEST_CASE("synth: a folder made from a config has exactly the tensors of the quantized model it describes") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    CAPTURE(name);
    const std::filesystem::path model = std::filesystem::path(LANNER_MODELS_DIR) / name;
    const io::TemporaryFolder folder;
    write_synthetic_folder({.name = name,
                            .config = io::load_json(model / "config.json"),
                            .output = folder.path() / "out",
                            .text_parts = model},
                           {});
    CHECK(layout(folder.path() / "out") == layout(model));
    CHECK(io::load_json(folder.path() / "out" / "config.json") == io::load_json(model / "config.json"));
  }
}

TEST_CASE("synth: the model runs with logits of a sane size, in shards, in any format, mixtures too") {
  io::Json moe = *preset_config("qwen3.5-35b-a3b");
  moe["text_config"].update(
      {{"num_hidden_layers", 4},
       {"layer_types", {"linear_attention", "linear_attention", "linear_attention", "full_attention"}},
       {"hidden_size", 128},
       {"num_experts", 8},
       {"num_experts_per_tok", 2},
       {"vocab_size", 8192}});
  io::Json gemma_moe = *preset_config("gemma4-26b-a4b");
  gemma_moe["text_config"].update({{"num_hidden_layers", 2},
                                   {"layer_types", {"sliding_attention", "full_attention"}},
                                   {"hidden_size", 128},
                                   {"num_experts", 4},
                                   {"top_k_experts", 2},
                                   {"vocab_size", 8192}});
  const io::Json tale_gemma =
      io::load_json(std::filesystem::path(LANNER_MODELS_DIR) / "tale-gemma4" / "config.json");
  using quantize::QuantMode;
  std::vector<std::optional<quantize::QuantFormat>> formats = {std::nullopt};
  for (const int bits : {3, 4, 8}) formats.push_back({{QuantMode::kAffine, bits, 64}});
  for (const QuantMode mode : {QuantMode::kMxfp4, QuantMode::kMxfp8, QuantMode::kNvfp4})
    formats.push_back(quantize::default_format(mode));
  for (const io::Json& config : {moe, gemma_moe, tale_gemma})
    for (const auto& format : formats) {
      CAPTURE(config["model_type"].get<std::string>());
      CAPTURE(format ? to_string(*format) : "bf16");
      const io::TemporaryFolder folder;
      const std::filesystem::path out = folder.path() / "out";
      const SyntheticReport report = write_synthetic_folder({.name = "small",
                                                             .config = config,
                                                             .output = out,
                                                             .text_parts = tale(config),
                                                             .format = format,
                                                             .seed = 3,
                                                             .max_shard_bytes = 1'000'000},
                                                            {});
      CHECK(report.shards > 1);
      for (const device::Compute compute : {device::Compute::kExact, device::Compute::kInt8}) {
        const double size = logit_size(out, compute);
        CHECK(size > 0.2);
        CHECK(size < 20);
      }
      std::ifstream card(out / "README.md");
      CHECK(std::string(std::istreambuf_iterator<char>(card), {}).find("Random weights") !=
            std::string::npos);
    }
}

TEST_CASE("synth: the same seed writes the same weights, another seed others") {
  const std::filesystem::path model = std::filesystem::path(LANNER_MODELS_DIR) / "tale-qwen3_5";
  const io::TemporaryFolder folder;
  const auto write = [&](const char* name, std::uint64_t seed) {
    write_synthetic_folder({.name = "x",
                            .config = io::load_json(model / "config.json"),
                            .output = folder.path() / name,
                            .text_parts = model,
                            .seed = seed},
                           {});
    const io::Checkpoint checkpoint(folder.path() / name);
    const auto bytes = checkpoint.require("language_model.model.layers.0.mlp.up_proj.weight").bytes;
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const auto first = write("a", 1);
  CHECK(write("b", 1) == first);
  CHECK(write("c", 2) != first);
}

TEST_CASE("synth: an unknown family and an output in use are refused") {
  CHECK_THROWS_AS(is_gemma4({{"model_type", "llama"}}), Error);
  const std::filesystem::path model = std::filesystem::path(LANNER_MODELS_DIR) / "tale-qwen3_5";
  CHECK_THROWS_AS(
      write_synthetic_folder(
          {.name = "x", .config = io::load_json(model / "config.json"), .output = model, .text_parts = model},
          {}),
      Error);
}

}  // namespace lanner::synthetic
