// SPDX-License-Identifier: MIT
#include "io/weight_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "io/fields.h"
#include "io/message_text.h"
#include "io/safetensors_file.h"

namespace lanner::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".safetensors";

[[noreturn]] void fail(const std::string& problem) { throw Error(ErrorKind::kCorrupt, problem); }

bool is_plain_file_name(const std::string& name) {
  return name.find('/') == std::string::npos && name.find('\0') == std::string::npos &&
         name.ends_with(kSuffix);
}

std::map<std::string, std::string> read_index(const fs::path& folder) {
  const Json document = load_json(folder / kIndexFileName);
  const Fields weight_map = Fields(document, std::string(kIndexFileName)).required_object("weight_map");
  std::map<std::string, std::string> index;
  for (const auto& [tensor, file] : weight_map.json().items()) {
    // Anything but a plain name could reach outside the folder.
    if (!file.is_string() || !is_plain_file_name(file.get_ref<const std::string&>())) {
      fail(fmt::format("{}: weight_map.{} is {}, expected the name of a .safetensors file in the same folder",
                       kIndexFileName, printable(tensor), describe(file)));
    }
    index.emplace(tensor, file.get<std::string>());
  }
  if (index.empty()) fail(fmt::format("{}: weight_map is empty, expected tensor names", kIndexFileName));
  return index;
}

/// Throws when an indexed file is absent, before anything is opened. A link whose target is gone counts as
/// absent.
void require_indexed_files(const FolderListing& listing, const WeightFiles& files) {
  std::vector<std::string> missing;
  for (const std::string& name : files.names) {
    std::error_code ignored;
    if (!fs::exists(listing.folder() / name, ignored)) missing.push_back(name);
  }
  if (missing.empty()) return;
  const auto lost = std::count_if(files.index.begin(), files.index.end(), [&](const auto& item) {
    return std::binary_search(missing.begin(), missing.end(), item.second);
  });
  std::string names = printable(missing[0]);
  for (std::size_t i = 1; i < std::min<std::size_t>(missing.size(), 3); ++i)
    names += ", " + printable(missing[i]);
  if (missing.size() > 3) names += fmt::format(" and {} more", missing.size() - 3);
  throw Error(
      ErrorKind::kNotFound,
      fmt::format("{}: {} missing, which {} {} of the {} tensors in {}; the download may be incomplete",
                  printable(listing.folder().native()), names + (missing.size() == 1 ? " is" : " are"),
                  missing.size() == 1 ? "holds" : "hold", lost, files.index.size(), kIndexFileName));
}

/// The count in "model-00001-of-00003.safetensors".
std::optional<std::size_t> shard_total(std::string_view name) {
  name.remove_suffix(kSuffix.size());
  const std::size_t of = name.rfind("-of-");
  if (of == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(of + 4);
  std::size_t total = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), total);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return total;
}

/// Without an index, "-of-00003" in the names is the only sign that a shard is absent.
void require_all_shards(const FolderListing& listing, const std::vector<std::string>& names) {
  std::map<std::size_t, std::size_t> found;
  for (const std::string& name : names) {
    if (const std::optional<std::size_t> total = shard_total(name)) ++found[*total];
  }
  for (const auto& [total, count] : found) {
    if (count < total) {
      throw Error(ErrorKind::kNotFound,
                  fmt::format("{}: holds {} of {} weight shards; the download may be incomplete",
                              printable(listing.folder().native()), count, total));
    }
  }
}

}  // namespace

WeightFiles find_weight_files(const FolderListing& listing) {
  WeightFiles files;
  const std::vector<std::string> all = listing.ending_with(kSuffix);
  if (listing.has(kIndexFileName)) {
    files.index = read_index(listing.folder());
    for (const auto& [tensor, file] : files.index) files.names.push_back(file);
    std::sort(files.names.begin(), files.names.end());
    files.names.erase(std::unique(files.names.begin(), files.names.end()), files.names.end());
    require_indexed_files(listing, files);
  } else {
    std::copy_if(all.begin(), all.end(), std::back_inserter(files.names), [](const std::string& name) {
      return name == "model.safetensors" || name.starts_with("model-");
    });
    if (files.names.empty()) throw listing.no_weights_error();
    require_all_shards(listing, files.names);
  }
  std::set_difference(all.begin(), all.end(), files.names.begin(), files.names.end(),
                      std::back_inserter(files.side_files));
  return files;
}

std::vector<TensorEntry> open_weight_files(const FolderListing& listing, const WeightFiles& files) {
  std::vector<TensorEntry> tensors;
  for (const std::string& name : files.names) {
    const SafetensorsFile file(listing.folder() / name);
    tensors.insert(tensors.end(), file.tensors().begin(), file.tensors().end());
  }
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const TensorEntry& a, const TensorEntry& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(tensors.begin(), tensors.end(),
                         [](const TensorEntry& a, const TensorEntry& b) { return a.name == b.name; });
  if (twice != tensors.end()) {
    fail(fmt::format("tensor {} is both in {} and in {}; the folder may mix files of two models",
                     in_quotes(twice->name), twice->file_name(), (twice + 1)->file_name()));
  }
  for (const auto& [tensor, file] : files.index) {
    const TensorEntry* entry = find_tensor(tensors, tensor);
    if (entry == nullptr) {
      fail(fmt::format("{}: tensor {} is missing, which {} promises; the folder may mix files of two models",
                       printable(file), in_quotes(tensor), kIndexFileName));
    }
    if (entry->file->path().filename() != file) {
      fail(fmt::format("{}: tensor {} is listed in {}, found in {}; the folder may mix files of two models",
                       kIndexFileName, in_quotes(tensor), printable(file), entry->file_name()));
    }
  }
  return tensors;
}

}  // namespace lanner::io
