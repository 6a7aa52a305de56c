// SPDX-License-Identifier: MIT
#include "quantize/output_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "core/error.h"
#include "io/atomic_file.h"
#include "io/file_error.h"
#include "io/mapped_file.h"
#include "io/message_text.h"

namespace lanner::quantize {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSideWeights[] = {"mtp.safetensors", "optiq_vision.safetensors"};
constexpr std::string_view kCarriedEndings[] = {".json", ".jinja",    ".model", ".txt",
                                                ".md",   ".tiktoken", ".py"};
constexpr std::string_view kCarriedNames[] = {"LICENSE", "NOTICE", "USE_POLICY"};

bool is_carried(const std::string& name) {
  if (std::ranges::find(kSideWeights, name) != std::end(kSideWeights)) return true;
  if (name.starts_with('.') || name == "config.json" || name.ends_with(".index.json")) return false;
  return std::ranges::any_of(kCarriedEndings, [&](std::string_view end) { return name.ends_with(end); }) ||
         std::ranges::any_of(kCarriedNames, [&](std::string_view start) { return name.starts_with(start); });
}

Error bad_output(const fs::path& target, std::string_view problem) {
  return Error(ErrorKind::kInvalidArgument, fmt::format("{}: {}; give a new folder for the result",
                                                        io::printable(target.native()), problem));
}

/// "models/x/" and "models/x" name the same neighbour.
fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& target, const fs::path& source)
    : target_(without_trailing_slash(target)) {
  std::error_code ignored;
  if (target_.empty()) throw bad_output(target, "an empty path");
  if (fs::exists(target_, ignored)) {
    if (fs::equivalent(target_, source, ignored)) throw bad_output(target_, "is the input folder itself");
    if (!fs::is_directory(target_, ignored)) throw bad_output(target_, "is a file");
    if (!fs::is_empty(target_, ignored)) throw bad_output(target_, "is not empty");
  }
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) throw io::file_error(parent, "create", error.value());
  temporary_ = target_;
  temporary_ += fmt::format(".{}.tmp", ::getpid());
  fs::create_directory(temporary_, error);
  if (error) throw io::file_error(temporary_, "create", error.value());
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!published_) fs::remove_all(temporary_, ignored);
}

void OutputFolder::require_space(std::uint64_t size_bytes) const {
  std::error_code error;
  const fs::space_info space = fs::space(temporary_, error);
  if (error || space.available >= size_bytes) return;
  throw Error(ErrorKind::kIo,
              fmt::format("{}: the result needs {}, but the disk has only {} free; free some space "
                          "or choose another disk",
                          io::printable(target_.native()), io::readable_size(size_bytes),
                          io::readable_size(space.available)));
}

void OutputFolder::publish() {
  std::error_code error;
  fs::rename(temporary_, target_, error);  // replaces an empty folder
  if (error) throw io::file_error(target_, "rename into place", error.value());
  published_ = true;
}

std::vector<std::string> carried_files(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file(error) && is_carried(name)) names.push_back(name);
  }
  if (error) throw io::file_error(folder, "read", error.value());
  std::ranges::sort(names);
  return names;
}

void carry_file(const fs::path& from, const fs::path& to) {
  io::AtomicFile file(to);
  std::error_code error;
  // An empty file cannot be mapped.
  if (fs::file_size(from, error) != 0 && !error) file.append(io::MappedFile(from).bytes());
  file.commit();
}

}  // namespace lanner::quantize
