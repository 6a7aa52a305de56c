// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::io {

/// The environment variables that say where Hugging Face downloads lie, as the program's front end read them;
/// empty means unset.
struct HubEnvironment {
  std::string hf_hub_cache;    ///< $HF_HUB_CACHE
  std::string hf_home;         ///< $HF_HOME
  std::string xdg_cache_home;  ///< $XDG_CACHE_HOME
  std::string home;            ///< $HOME
};

/// Folders to search, most specific first: $HF_HUB_CACHE, $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub,
/// ~/.cache/huggingface/hub.
std::vector<std::filesystem::path> hub_folders(const HubEnvironment& environment);

/// The folder a user means by `text`: an existing path, else a Hugging Face model id `org/name` or
/// `org/name@revision` (default revision main) already downloaded to one of `hubs`, whose layout is
/// models--org--name/refs/REVISION holding the name of a folder in models--org--name/snapshots.
/// Throws Error kNotFound listing where it looked. Does not check that the folder is a checkpoint.
std::filesystem::path resolve_folder(const std::string& text, const std::vector<std::filesystem::path>& hubs);

}  // namespace lanner::io
