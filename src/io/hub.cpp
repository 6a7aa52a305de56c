// SPDX-License-Identifier: MIT
#include "io/hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "io/file_error.h"
#include "io/message_text.h"
#include "io/text_file.h"

namespace lanner::io {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxRefBytes = 4096;

struct ModelId {
  std::string name;      // "org/name" or "name"
  std::string revision;  // "main" unless given
};

bool is_id_part(std::string_view part) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !part.empty() && part[0] != '.' && part[0] != '-' && std::all_of(part.begin(), part.end(), allowed);
}

std::optional<ModelId> parse_id(std::string_view text) {
  const std::size_t at = text.find('@');
  ModelId id{std::string(text.substr(0, at)),
             at == std::string_view::npos ? "main" : std::string(text.substr(at + 1))};
  const std::string_view name = id.name;
  const std::size_t slash = name.find('/');
  const bool name_is_valid = slash == std::string_view::npos
                                 ? is_id_part(name)
                                 : is_id_part(name.substr(0, slash)) && is_id_part(name.substr(slash + 1));
  if (!name_is_valid || !is_id_part(id.revision)) return std::nullopt;
  return id;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// "org/name" → "models--org--name"
std::string cache_entry_name(const std::string& id) {
  std::string name = "models--";
  for (const char c : id) name += c == '/' ? std::string("--") : std::string(1, c);
  return name;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The snapshot of `id` in one cache entry. A revision is a name in refs/ or itself a snapshot's name.
std::optional<fs::path> find_snapshot(const fs::path& entry, const ModelId& id) {
  std::string snapshot = id.revision;
  if (const fs::path ref = entry / "refs" / id.revision; fs::exists(ref)) {
    snapshot = trimmed(read_text_file(ref, kMaxRefBytes));
    if (!is_id_part(snapshot)) {
      throw Error(ErrorKind::kCorrupt, fmt::format("{}: holds {}, expected the name of a snapshot",
                                                   printable(ref.native()), in_quotes(snapshot)));
    }
  }
  const fs::path folder = entry / "snapshots" / snapshot;
  if (!is_folder(folder)) return std::nullopt;
  return folder;
}

}  // namespace

std::vector<fs::path> hub_folders(const HubEnvironment& environment) {
  std::vector<fs::path> folders;
  if (!environment.hf_hub_cache.empty()) folders.emplace_back(environment.hf_hub_cache);
  if (!environment.hf_home.empty()) folders.push_back(fs::path(environment.hf_home) / "hub");
  if (!environment.xdg_cache_home.empty()) {
    folders.push_back(fs::path(environment.xdg_cache_home) / "huggingface" / "hub");
  }
  if (!environment.home.empty())
    folders.push_back(fs::path(environment.home) / ".cache" / "huggingface" / "hub");
  return folders;
}

fs::path resolve_folder(const std::string& text, const std::vector<fs::path>& hubs) {
  if (text.empty())
    throw Error(ErrorKind::kInvalidArgument, "the model folder is an empty text, expected a path");
  std::error_code ignored;
  if (fs::exists(text, ignored)) return text;
  const std::optional<ModelId> id = parse_id(text);
  if (!id) throw file_error(text, "open", ENOENT);

  const std::string entry_name = cache_entry_name(id->name);
  std::string looked;
  for (const fs::path& hub : hubs) {
    const fs::path entry = hub / entry_name;
    if (is_folder(entry)) {
      if (std::optional<fs::path> folder = find_snapshot(entry, *id)) return *folder;
      throw Error(ErrorKind::kNotFound,
                  fmt::format("{}: {} has no snapshot of revision {}; the download may be incomplete",
                              printable(text), printable(entry.native()), in_quotes(id->revision)));
    }
    looked += (looked.empty() ? "" : ", ") + printable(hub.native());
  }
  throw Error(
      ErrorKind::kNotFound,
      fmt::format(
          "{}: no such folder, and no downloaded model of that name in the Hugging Face cache (looked "
          "for {} in {}); download it first or give a path",
          printable(text), entry_name, looked.empty() ? "no folder" : looked));
}

}  // namespace lanner::io
