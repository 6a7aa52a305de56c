// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::cli {

/// The model that commands use when none is named.
inline constexpr const char* kDefaultModel = "tale-gemma4";

/// Where models named without a path may lie.
struct ModelPlaces {
  std::vector<std::filesystem::path> hubs;      ///< Hugging Face caches
  std::vector<std::filesystem::path> embedded;  ///< folders of embedded models, best first
};

/// The checkpoint folder a user means: a path, a Hugging Face id, or the embedded default when `text` is
/// empty. Throws Error kNotFound saying where it looked.
std::filesystem::path find_model_folder(const std::string& text, const ModelPlaces& places);

/// The folder of an embedded model ("tale-gemma4"). Throws Error kNotFound saying where it looked.
std::filesystem::path find_embedded_model(std::string_view name, const ModelPlaces& places);

}  // namespace lanner::cli
