// SPDX-License-Identifier: MIT
#include "engine/test_models.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/cpu_features.h"
#include "io/json.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;
using Loaded = std::shared_ptr<const engine::LoadedModel>;

Loaded load(const fs::path& folder, engine::LoadOptions how) {
  static std::map<std::string, Loaded> known;
  const int storage = how.kv_type ? static_cast<int>(*how.kv_type) : -1;
  Loaded& model = known[folder.string() + " " + std::to_string(static_cast<int>(how.compute)) +
                        std::to_string(storage) + std::to_string(how.cuda.value_or(-1))];
  how.isa = detect_isa();
  if (!model) model = std::make_shared<engine::LoadedModel>(folder, how);
  return model;
}

}  // namespace

Loaded tale(const std::string& name, engine::LoadOptions how) {
  return load(fs::path(LANNER_MODELS_DIR) / name, how);
}

Loaded tale_of_context(const std::string& name, std::size_t context) {
  static std::map<std::string, io::TemporaryFolder> folders;
  const auto [place, is_new] = folders.try_emplace(name + " of " + std::to_string(context));
  const fs::path folder = place->second.path();
  if (is_new) {
    for (const auto& file : fs::directory_iterator(fs::path(LANNER_MODELS_DIR) / name))
      if (file.path().filename() != "config.json")
        fs::create_symlink(file.path(), folder / file.path().filename());
    io::Json config = io::load_json(fs::path(LANNER_MODELS_DIR) / name / "config.json");
    config["text_config"]["max_position_embeddings"] = context;
    place->second.write("config.json", config.dump());
  }
  return load(folder, {});
}

Loaded random_model(const std::string& name, engine::LoadOptions how) {
  static std::map<std::string, io::TemporaryFolder> folders;
  const auto [place, is_new] = folders.try_emplace(name);
  const fs::path folder = place->second.path() / fs::path(name).filename();
  if (is_new) {
    fs::create_directory(folder);
    for (const auto& file : fs::directory_iterator(fs::path(LANNER_GOLDEN_DIR) / "models" / name))
      if (file.path().filename() != "oracle.safetensors")
        fs::create_symlink(file.path(), folder / file.path().filename());
    const std::string family = name.substr(0, name.find('/'));
    fs::create_symlink(fs::path(LANNER_MODELS_DIR) / ("tale-" + family) / "tokenizer.json",
                       folder / "tokenizer.json");
  }
  return load(folder, how);
}

std::vector<Loaded> all_models() {
  std::vector<Loaded> models;
  for (const char* name : kTaleNames) models.push_back(tale(name));
  for (const char* name :
       {"gemma4/g1_e_ple_kvshare", "gemma4/g3_moe", "qwen3_5/q2_dense_grouped_untied", "qwen3_5/q3_moe"})
    models.push_back(random_model(name));
  return models;
}

std::vector<Loaded> quantized_variants() {
  using device::Compute;
  using device::KvType;
  return {tale("tale-gemma4", {.compute = Compute::kInt8}),
          tale("tale-gemma4", {.kv_type = KvType::kAffine4}),
          tale("tale-qwen3_5", {.compute = Compute::kInt8, .kv_type = KvType::kAffine8}),
          random_model("gemma4/g1_e_ple_kvshare", {.kv_type = KvType::kAffine8}),
          random_model("qwen3_5/q3_moe", {.kv_type = KvType::kAffine4})};
}

std::string describe(const engine::LoadedModel& model) {
  const bool rounds = model.options().compute == device::Compute::kInt8;
  return model.checkpoint().folder().filename().string() + (rounds ? ", int8" : ", exact") +
         ", keys and values in " + std::string(name(model.cache_spec().kv_type));
}

std::size_t usable_vocabulary(const engine::LoadedModel& model) {
  return std::min<std::size_t>(model.model().facts().vocabulary, 4000);
}

}  // namespace lanner::test
