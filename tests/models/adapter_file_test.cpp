// SPDX-License-Identifier: MIT
// Adapter folders: what is mounted, and what is said of those that are not.
#include <doctest/doctest.h>

#include "adapter_recipe.h"
#include "io/safetensors_file.h"
#include "io/temporary_folder.h"
#include "models/adapter.h"
#include "models/adapter_config.h"
#include "models/adapter_tensor_name.h"
#include "models/fixture_case.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, std::pair<Shape, std::vector<float>>>;

Runner& gemma() {
  static Runner runner(fs::path(LANNER_GOLDEN_DIR) / "models/gemma4/g1_e_ple_kvshare", tested_ops().back(),
                       1);
  return runner;
}

Runner& qwen_moe() {
  static Runner runner(fs::path(LANNER_GOLDEN_DIR) / "models/qwen3_5/q3_moe", tested_ops().back(), 1);
  return runner;
}

models::Adapter read(const fs::path& folder, Runner& runner = gemma()) {
  return models::read_adapter(folder, runner.model(), runner.ops());
}

const layers::LinearTarget& target(const std::string& path, Runner& runner = gemma()) {
  for (const layers::LinearTarget& candidate : runner.model().facts().targets)
    if (candidate.path == path) return candidate;
  throw Error(ErrorKind::kInternal, "no target " + path);
}

/// An adapter folder with these tensors and this config.
struct Folder {
  io::TemporaryFolder place;

  Folder(const Tensors& tensors, const nlohmann::json& config,
         const std::string& file = "adapter_model.safetensors") {
    write_tensors(place.path() / file, tensors);
    place.write("adapter_config.json", config.dump());
  }
  std::string error(ErrorKind kind, Runner& runner = gemma()) const {
    return io::error_of(kind, [&] { read(place.path(), runner); });
  }
};

const nlohmann::json kPeft = {{"peft_type", "LORA"}, {"r", 2}, {"lora_alpha", 4}};

/// Both factors of one linear, all ones, with names as PEFT writes them.
Tensors ones(const std::string& prefix, const std::string& path, std::int64_t rank = 2) {
  const layers::LinearTarget& linear = target(path);
  const auto in = static_cast<std::int64_t>(linear.in), out = static_cast<std::int64_t>(linear.out);
  const auto r = static_cast<std::size_t>(rank);
  return {{prefix + path + ".lora_A.weight", {{rank, in}, std::vector<float>(r * linear.in, 1)}},
          {prefix + path + ".lora_B.weight", {{out, rank}, std::vector<float>(r * linear.out, 1)}}};
}

constexpr const char* kQ = "layers.0.self_attn.q_proj";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const layers::LoraFactors& factors(const models::Adapter& adapter, const std::string& path) {
  const auto& targets = gemma().model().facts().targets;
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (targets[i].path == path) return (*adapter.weights)[i].value();
  throw Error(ErrorKind::kInternal, "no target " + path);
}

}  // namespace

TEST_CASE("every way in which classes nest the text model names the same linear") {
  for (const char* prefix : {"base_model.model.model.language_model.", "base_model.model.model.",
                             "base_model.model.language_model.model.", "model.language_model.", "model.",
                             "language_model.model.", "language_model.", ""}) {
    CAPTURE(prefix);
    const models::Adapter adapter = read(Folder(ones(prefix, kQ), kPeft).place.path());
    CHECK(adapter.modules == 1);
    CHECK(adapter.layers == 1);
    CHECK(adapter.rank == 2);
    CHECK(adapter.targets == std::vector<std::string>{"self_attn.q_proj"});
    CHECK(factors(adapter, kQ).scale == 2.0F);
  }
  const auto named = models::parse_adapter_tensor_name(
      "base_model.model.model.layers.11.mlp.down_proj.lora_B.default.weight");
  REQUIRE(named);
  CHECK(named->path == "layers.11.mlp.down_proj");
  CHECK(named->module == "model.layers.11.mlp.down_proj");
  CHECK(named->part == models::AdapterPart::kB);
  for (const char* other :
       {"layers.0.lora_A", "layers.x.q_proj.lora_A", "model.embed_tokens.weight", "lora_A",
        "visual.blocks.0.attn.qkv.lora_A.weight", "layers.0.q_proj.lora_C.weight", ""})
    CHECK_FALSE(models::parse_adapter_tensor_name(other));
}

TEST_CASE("rank 8 and alpha 16 are a scale of 2, and an MLX file's scale is taken as it stands") {
  const layers::LinearTarget& linear = target(kQ);
  const Tensors peft = ones("base_model.model.model.", kQ, 8);
  const nlohmann::json config = {{"peft_type", "LORA"}, {"r", 8}, {"lora_alpha", 16}};
  CHECK(factors(read(Folder(peft, config).place.path()), kQ).scale == 2.0F);
  nlohmann::json rs = config;
  rs["use_rslora"] = true;
  CHECK(factors(read(Folder(peft, rs).place.path()), kQ).scale == doctest::Approx(16 / std::sqrt(8.0)));

  const auto in = static_cast<std::int64_t>(linear.in), out = static_cast<std::int64_t>(linear.out);
  const Tensors mlx = {{std::string("language_model.model.") + kQ + ".lora_a",
                        {{in, 8}, std::vector<float>(8 * linear.in, 1)}},
                       {std::string("language_model.model.") + kQ + ".lora_b",
                        {{8, out}, std::vector<float>(8 * linear.out, 1)}}};
  const auto mlx_scale = [&](const nlohmann::json& parameters) {
    const Folder folder(mlx, {{"fine_tune_type", "lora"}, {"lora_parameters", parameters}},
                        "adapters.safetensors");
    return factors(read(folder.place.path()), kQ).scale;
  };
  CHECK(mlx_scale({{"rank", 8}, {"scale", 16.0}}) == 16.0F);
  CHECK(mlx_scale({{"rank", 8}}) == 20.0F);
  CHECK(mlx_scale({{"rank", 16}, {"scale", 16.0}}) == 16.0F);  // another rank than the factors'
  CHECK(mlx_scale({{"rank", 8}, {"scale", 4.0}, {"rs_lora", true}}) == doctest::Approx(4 / std::sqrt(8.0)));
  const Folder optiq(mlx, {{"peft_type", "LORA"}, {"lora_alpha", 3}}, "adapters.safetensors");
  optiq.place.write("optiq_lora_config.json", R"({"rs_lora": false, "lora_parameters": {"scale": 5.5}})");
  CHECK(factors(read(optiq.place.path()), kQ).scale == 5.5F);
}

TEST_CASE("a scale of 2 multiplies what factors of ones add") {
  Runner& runner = gemma();
  const models::Adapter adapter =
      read(Folder(ones("model.", kQ, 8), {{"peft_type", "LORA"}, {"lora_alpha", 16}}).place.path());
  const layers::LoraSet set({{adapter.weights, 1}});
  const layers::LinearTarget& linear = target(kQ);
  std::vector<float> x(linear.in, 0.5F), y(linear.out, 1);
  const auto tensor = [](std::vector<float>& values) {
    return Tensor{
        values.data(), DType::kF32, {1, static_cast<std::int64_t>(values.size())}, DeviceKind::kCpu};
  };
  std::size_t index = 0;
  while (runner.model().facts().targets[index].path != kQ) ++index;
  const device::LowRankCall call{tensor(y), tensor(x), set.parts(index)};
  runner.ops().add_low_rank(runner.stream(), {&call, 1});
  // 1 + 2 * (sum of 0.5 over the inputs) * (8 ones)
  for (float value : y) CHECK(value == doctest::Approx(1 + 2 * 0.5 * double(linear.in) * 8).epsilon(1e-6));
}

TEST_CASE("patterns give single modules other ranks and alphas, the first that fits") {
  Tensors tensors = ones("base_model.model.model.", kQ);
  tensors.merge(ones("base_model.model.model.", "layers.1.self_attn.q_proj", 4));
  tensors.merge(ones("base_model.model.model.", "layers.1.mlp.up_proj"));
  nlohmann::ordered_json config = {{"peft_type", "LORA"}, {"r", 2}, {"lora_alpha", 4}};
  config["rank_pattern"] = {{R"(layers\.1\.self_attn\.q_proj)", 4}};
  config["alpha_pattern"] = nlohmann::ordered_json::object();
  config["alpha_pattern"]["layers.1.self_attn.q_proj"] = 20;
  config["alpha_pattern"]["q_proj"] = 10;
  config["alpha_pattern"]["roj"] = 99;  // not a whole segment
  const models::Adapter adapter = read(Folder(tensors, config).place.path());
  CHECK(factors(adapter, kQ).scale == 5.0F);
  CHECK(factors(adapter, "layers.1.self_attn.q_proj").scale == 5.0F);
  CHECK(factors(adapter, "layers.1.mlp.up_proj").scale == 2.0F);
  config["rank_pattern"]["up_proj"] = 8;
  CHECK(contains(Folder(tensors, config).error(ErrorKind::kCorrupt),
                 "a rank in rank_pattern is 8, expected 2"));
  config["rank_pattern"] = {{"(a+)+", 8}};
  CHECK(contains(Folder(tensors, config).error(ErrorKind::kUnsupported), "rank_pattern"));
  config["rank_pattern"] = {{"up_proj(", 8}};
  CHECK(contains(Folder(tensors, config).error(ErrorKind::kCorrupt), "no regular expression"));
}

TEST_CASE("an adapter that does not fit is refused with the names at fault, and nothing is read of it") {
  const std::string nest = "base_model.model.model.";
  const auto message = [&](const Tensors& tensors) {
    return Folder(tensors, kPeft).error(ErrorKind::kCorrupt);
  };
  const Tensors good = ones(nest, kQ);

  SUBCASE("a misspelt projection") {
    Tensors bad = good;
    auto node = bad.extract(nest + kQ + std::string(".lora_A.weight"));
    node.key() = nest + "layers.0.self_attn.q_projj.lora_A.weight";
    bad.insert(std::move(node));
    const std::string text = message(bad);
    CHECK(contains(text, "q_projj"));
    CHECK(contains(text, "layers.0.self_attn.q_proj"));  // a name of the base
  }
  SUBCASE("only names of the vision tower") {
    const std::string text = message({{"base_model.model.model.vision_tower.layers.0.q_proj.lora_A.weight",
                                       {{2, 4}, {1, 1, 1, 1, 1, 1, 1, 1}}}});
    CHECK(contains(text, "vision_tower"));
    CHECK(contains(text, "1 of 1 tensors"));
  }
  SUBCASE("one tensor too many") {
    Tensors bad = good;
    bad["base_model.model.model.embed_tokens.weight"] = {{1, 2}, {1, 2}};
    CHECK(contains(message(bad), "embed_tokens"));
  }
  SUBCASE("one factor without the other") {
    Tensors bad = good;
    bad.erase(nest + kQ + ".lora_B.weight");
    CHECK(contains(message(bad), "has no lora_B beside it"));
    bad = good;
    bad.erase(nest + kQ + ".lora_A.weight");
    CHECK(contains(message(bad), "has no lora_A beside it"));
  }
  SUBCASE("a layer that is not there") {
    const auto layer = Tensors{{nest + "layers.99.mlp.up_proj.lora_A.weight", {{1, 1}, {1}}}};
    CHECK(contains(message(layer), "layers.99.mlp.up_proj"));
    const auto huge =
        Tensors{{nest + "layers.99999999999999999999.self_attn.k_proj.lora_A.weight", {{1, 1}, {1}}}};
    CHECK(contains(message(huge), "99999999999999999999"));
  }
  SUBCASE("no tensor at all") { CHECK(contains(message({}), "holds no tensor")); }
  SUBCASE("the other orientation") {
    const layers::LinearTarget& linear = target(kQ);
    Tensors bad = good;
    bad[nest + kQ + ".lora_A.weight"].first = {static_cast<std::int64_t>(linear.in), 2};
    const std::string text = message(bad);
    CHECK(contains(text, "expected [rank, "));
    CHECK(contains(text, "the other way round"));
  }
  SUBCASE("ranks that differ") {
    Tensors bad = good;
    bad.merge(Tensors{});
    bad[nest + kQ + ".lora_B.weight"] = ones(nest, kQ, 3)[nest + kQ + ".lora_B.weight"];
    CHECK(contains(message(bad), "has rank 3, expected 2"));
  }
  SUBCASE("one factor twice") {
    Tensors bad = good;
    bad[std::string("model.") + kQ + ".lora_A.weight"] = good.at(nest + kQ + ".lora_A.weight");
    CHECK(contains(message(bad), "is the same factor as"));
  }
  SUBCASE("numbers that are none") {
    Tensors bad = good;
    bad[nest + kQ + ".lora_B.weight"].second[3] = std::numeric_limits<float>::quiet_NaN();
    CHECK(contains(message(bad), "holds nan at element 3"));
  }
  SUBCASE("numbers whose product is none") {
    Tensors bad = good;
    for (auto& [name, tensor] : bad) tensor.second.assign(tensor.second.size(), 1e20F);
    CHECK(contains(message(bad), "lora_B.weight\" holds up to 1e+20: with 1e+20 in its lora_A"));
    CHECK(contains(message(bad), "expected finite floats"));
    for (auto& [name, tensor] : bad) tensor.second.assign(tensor.second.size(), 1e18F);
    CHECK_NOTHROW(read(Folder(bad, kPeft).place.path()));  // 4e36
  }
}

TEST_CASE("ranks and strengths of a config are refused with file, field, found and expected") {
  const Tensors tensors = ones("model.", kQ);
  using nlohmann::json;
  const auto message = [&](const json& fields) {
    json config = kPeft;
    config.update(fields);
    return Folder(tensors, config).error(ErrorKind::kCorrupt);
  };
  for (const json& rank :
       {json(0), json(-2), json("2"), json(1e300), json(2.5), json(true), json::array({2})}) {
    CAPTURE(rank);
    CHECK(contains(message({{"r", rank}}), "adapter_config.json: r is "));
    CHECK(contains(message({{"r", rank}}), ", expected an integer >= 1"));
  }
  CHECK(contains(message({{"r", 3}}), "adapter_config.json: r is 3, expected 2 as the factors of \"model." +
                                          std::string(kQ) + "\" have"));
  CHECK(contains(message({{"r", 1'000'000'000'000}}), "r is 1000000000000, expected 2"));
  for (const json& alpha : {json("4"), json(1e300), json(-1e31), json(true), json::object()}) {
    CAPTURE(alpha);
    CHECK(contains(message({{"lora_alpha", alpha}}), "adapter_config.json: lora_alpha is "));
    CHECK(contains(message({{"lora_alpha", alpha}}), ", expected a number >= -1e+30 and <= 1e+30"));
  }
  CHECK(contains(message({{"alpha_pattern", {{"q_proj", 1e300}}}}), "alpha_pattern: \"q_proj\" is 1e+300"));

  const auto mlx_message = [&](const json& parameters) {
    return Folder(tensors, {{"lora_parameters", parameters}}, "adapters.safetensors")
        .error(ErrorKind::kCorrupt);
  };
  for (const json& rank : {json(0), json(-2), json("2"), json(1e300)})
    CHECK(contains(mlx_message({{"rank", rank}}), "adapter_config.json: lora_parameters.rank is "));
  CHECK(contains(mlx_message({{"rank", 3}, {"rs_lora", true}}), "lora_parameters.rank is 3, expected 2"));
  for (const json& scale : {json("4"), json(1e300), json(true), json::array()})
    CHECK(contains(mlx_message({{"scale", scale}}), "adapter_config.json: lora_parameters.scale is "));
  CHECK(contains(mlx_message(4), "lora_parameters is 4 (number), expected an object"));
  Folder endless(tensors, kPeft);
  endless.place.write("adapter_config.json", R"({"peft_type": "LORA", "r": 2, "lora_alpha": 1e400})");
  CHECK(contains(endless.error(ErrorKind::kCorrupt), "adapter_config.json"));
  // Its ranks are those of single modules.
  const Folder optiq(tensors, kPeft);
  optiq.place.write("optiq_lora_config.json", R"({"lora_parameters": {"rank": 16, "scale": 2}})");
  CHECK_NOTHROW(read(optiq.place.path()));
}

TEST_CASE("what is not plain LoRA is refused by its name") {
  const Tensors good = ones("model.", kQ);
  const std::pair<const char*, nlohmann::json> features[] = {
      {"use_dora", true},
      {"bias", "all"},
      {"lora_bias", true},
      {"fan_in_fan_out", true},
      {"modules_to_save", {"lm_head"}},
      {"layer_replication", {{0, 4}}},
      {"trainable_token_indices", {1, 2}},
      {"target_parameters", {"mlp.experts.gate_up_proj"}},
      {"alora_invocation_tokens", {1}},
      {"arrow_config", {{"top_k", 2}}},
      {"kasa_config", {{"beta", 1}}},
      {"velora_config", {{"a", 1}}},
      {"bdlora_config", {{"a", 1}}},
      {"monteclora_config", {{"a", 1}}},
      {"use_qalora", true},
      {"init_lora_weights", "pissa_niter_16"},
      {"init_lora_weights", "loftq"},
      {"peft_type", "LOHA"}};
  for (const auto& [field, value] : features) {
    CAPTURE(field);
    nlohmann::json config = kPeft;
    config[field] = value;
    CHECK(contains(Folder(good, config).error(ErrorKind::kUnsupported), field));
  }
  // Fields that say nothing are nothing.
  nlohmann::json config = kPeft;
  config.update({{"use_dora", false},
                 {"bias", "none"},
                 {"modules_to_save", nullptr},
                 {"loftq_config", nlohmann::json::object()},
                 {"init_lora_weights", true},
                 {"layer_replication", nullptr},
                 {"target_parameters", nlohmann::json::array()}});
  CHECK_NOTHROW(read(Folder(good, config).place.path()));
  for (const char* type : {"dora", "full"}) {
    const Folder mlx(good, {{"fine_tune_type", type}, {"lora_parameters", {{"scale", 1}}}},
                     "adapters.safetensors");
    CHECK(contains(mlx.error(ErrorKind::kUnsupported), "fine_tune_type"));
  }
  Tensors magnitude = good;
  magnitude[std::string("model.") + kQ + ".lora_magnitude_vector"] = {{2}, {1, 2}};
  CHECK(contains(Folder(magnitude, kPeft).error(ErrorKind::kUnsupported), "DoRA"));
}

TEST_CASE("adapters of routed experts are refused as such") {
  for (const char* name : {"base_model.model.model.layers.0.mlp.experts.base_layer.lora_A.weight",
                           "base_model.model.model.layers.0.mlp.experts.lora_A.weight",
                           "language_model.model.layers.0.mlp.switch_mlp.up_proj.lora_a"}) {
    const Folder folder(Tensors{{name, {{1, 1}, {1}}}}, kPeft);
    CHECK(contains(folder.error(ErrorKind::kUnsupported, qwen_moe()), "adapts routed experts"));
  }
}

TEST_CASE("keys and values of layers that share another's are left out with a remark") {
  Tensors tensors = ones("model.", kQ);
  // The last three layers of this model share; files of older releases have factors for them.
  const std::size_t last = gemma().model().cache_layers().size() - 1;
  const std::string unused = "model.layers." + std::to_string(last) + ".self_attn.k_proj";
  tensors[unused + ".lora_A.weight"] = {{2, 3}, {1, 2, 3, 4, 5, 6}};
  const models::Adapter adapter = read(Folder(tensors, kPeft).place.path());
  CHECK(adapter.modules == 1);
  REQUIRE(adapter.remarks.size() == 1);
  CHECK(contains(adapter.remarks[0], unused));
  const Folder only(Tensors{{unused + ".lora_A.weight", {{2, 3}, {1, 2, 3, 4, 5, 6}}}}, kPeft);
  CHECK(contains(only.error(ErrorKind::kCorrupt), "the model does not use"));
}

TEST_CASE("folders that hold no adapter say so") {
  const io::TemporaryFolder folder;
  CHECK(contains(io::error_of(ErrorKind::kNotFound, [&] { read(folder.path()); }), "holds no adapter"));
  folder.write("adapter_model.bin", "x");
  CHECK(contains(io::error_of(ErrorKind::kUnsupported, [&] { read(folder.path()); }), "pickle"));
  io::error_of(ErrorKind::kNotFound, [&] { read(folder.path() / "missing"); });
  write_tensors(folder.path() / "adapter_model.safetensors", ones("model.", kQ));
  CHECK(contains(io::error_of(ErrorKind::kNotFound, [&] { read(folder.path()); }), "adapter_config.json"));
  folder.write("adapter_config.json", "[1]");
  CHECK(contains(io::error_of(ErrorKind::kCorrupt, [&] { read(folder.path()); }), "expected an object"));
  folder.write("adapter_config.json", "{}");
  CHECK(contains(io::error_of(ErrorKind::kCorrupt, [&] { read(folder.path()); }), "lora_parameters"));
}

TEST_CASE("equal adapters have equal hashes whatever program wrote them, others do not") {
  Runner& runner = gemma();
  const auto hash = [&](const AdapterRecipe& recipe) {
    const io::TemporaryFolder folder;
    write_adapter(folder.path(), recipe, runner.model().facts().targets);
    return read(folder.path()).content_hash;
  };
  const std::string first = hash({});
  CHECK(hash({.form = AdapterForm::kMlx}) == first);
  CHECK(hash({.seed = 2}) != first);
  CHECK(hash({.alpha = 9}) != first);
}

}  // namespace lanner::test
