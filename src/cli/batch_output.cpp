// SPDX-License-Identifier: MIT
#include "cli/batch_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "core/error.h"
#include "io/fields.h"
#include "io/file_error.h"
#include "io/json.h"
#include "io/message_text.h"
#include "io/text_file.h"

namespace lanner::cli {
namespace {

constexpr std::uint64_t kLargestOutput = std::uint64_t{1} << 36;

}  // namespace

BatchOutput::BatchOutput(const std::filesystem::path& file) : file_(file) {
  descriptor_ = io::FileDescriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!descriptor_.is_open()) throw io::file_error(file, "open", errno);
  if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: another batch is writing this file", io::printable(file.native())));
  const std::string text = io::read_text_file(file, kLargestOutput);
  std::size_t begin = 0;
  for (std::size_t number = 1; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // torn
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (!line.empty()) read_result(line, fmt::format("{} line {}", io::printable(file.native()), number));
    begin = end + 1;
  }
  if (begin < text.size() && ::ftruncate(descriptor_.get(), static_cast<off_t>(begin)) != 0)
    throw io::file_error(file, "write", errno);
}

void BatchOutput::read_result(std::string_view line, const std::string& where) {
  const io::Json json = io::parse_json(line, where);
  if (!json.is_object()) throw Error(ErrorKind::kCorrupt, where + ": expected a result of a batch");
  const io::Fields fields(json, where);
  (void)fields.required_object("response").required_int("status_code");
  if (fields.has("custom_id") && !json["custom_id"].is_null())
    custom_ids_.insert(fields.required_string("custom_id"));
  else
    result_ids_.insert(fields.required_string("id"));
}

bool BatchOutput::has(const BatchLine& line) const {
  return line.custom_id.empty() ? result_ids_.contains(line.result_id())
                                : custom_ids_.contains(line.custom_id);
}

BatchOutput::~BatchOutput() { ::fsync(descriptor_.get()); }

void BatchOutput::append(const std::string& line) {
  const std::string whole = line + '\n';
  std::size_t written = 0;
  while (written < whole.size()) {
    const ssize_t count = ::write(descriptor_.get(), whole.data() + written, whole.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw io::file_error(file_, "write", errno);
    written += static_cast<std::size_t>(count);
  }
}

}  // namespace lanner::cli
