// SPDX-License-Identifier: MIT
#include "engine/test_models.h"

#include <filesystem>
#include <map>

#include "core/cpu_features.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;
using Loaded = std::shared_ptr<const engine::LoadedModel>;

Loaded load(const fs::path& folder) {
  static std::map<std::string, Loaded> known;
  Loaded& model = known[folder.string()];
  if (!model) model = std::make_shared<engine::LoadedModel>(folder, engine::LoadOptions{.isa = detect_isa()});
  return model;
}

}  // namespace

Loaded tale(const std::string& name) { return load(fs::path(LANNER_MODELS_DIR) / name); }

Loaded random_model(const std::string& name) {
  static std::map<std::string, io::TemporaryFolder> folders;
  const auto [place, is_new] = folders.try_emplace(name);
  const fs::path folder = place->second.path();
  if (is_new) {
    for (const auto& file : fs::directory_iterator(fs::path(LANNER_GOLDEN_DIR) / "models" / name))
      if (file.path().filename() != "oracle.safetensors")
        fs::create_symlink(file.path(), folder / file.path().filename());
    const std::string family = name.substr(0, name.find('/'));
    fs::create_symlink(fs::path(LANNER_MODELS_DIR) / ("tale-" + family) / "tokenizer.json",
                       folder / "tokenizer.json");
  }
  return load(folder);
}

std::vector<Loaded> all_models() {
  std::vector<Loaded> models;
  for (const char* name : kTaleNames) models.push_back(tale(name));
  for (const char* name :
       {"gemma4/g1_e_ple_kvshare", "gemma4/g3_moe", "qwen3_5/q2_dense_grouped_untied", "qwen3_5/q3_moe"})
    models.push_back(random_model(name));
  return models;
}

}  // namespace lanner::test
