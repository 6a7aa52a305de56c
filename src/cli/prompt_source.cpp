// SPDX-License-Identifier: MIT
#include "cli/prompt_source.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/error.h"
#include "io/message_text.h"
#include "io/text_file.h"
#include "text/unicode.h"

namespace lanner::cli {
namespace {

struct NamedText {
  std::string text;
  std::string name;  // for messages
};

/// A stream has no size to look at, so the bound for files is kept while reading.
NamedText read_stream(std::istream& in, const std::string& name) {
  std::string text;
  std::array<char, 1 << 16> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > io::kMaxTextBytes)
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("{}: has more than {} of text", name, io::readable_size(io::kMaxTextBytes)));
  }
  if (in.bad()) throw Error(ErrorKind::kIo, fmt::format("{}: could not be read", name));
  return {std::move(text), name};
}

/// True for what a shell passes as <(command), for named pipes and for devices.
bool is_stream(const std::string& file) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(file, ignored);
  return std::filesystem::is_other(status);
}

NamedText read_file(const std::string& file) {
  const std::string name = io::printable(file);
  if (!is_stream(file)) return {io::read_text_file(file), name};
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorKind::kIo, fmt::format("{}: could not be opened", name));
  return read_stream(in, name);
}

NamedText read_source(const PromptSource& source, Console& console) {
  if (source.text && *source.text != "-") return {*source.text, "the prompt"};
  if (source.file && *source.file != "-") return read_file(*source.file);
  if (!source.given() && console.terminal.in)
    throw Error(ErrorKind::kInvalidArgument, "there is no text; give it with -p TEXT, -f FILE or a pipe");
  return read_stream(console.in, "standard input");
}

}  // namespace

void add_prompt_options(CLI::App& app, PromptSource& source) {
  CLI::Option* text = app.add_option("-p,--prompt", source.text, "the text; - reads standard input");
  text->type_name("TEXT");
  app.add_option("-f,--file", source.file, "read the text from a file; - reads standard input")
      ->type_name("FILE")
      ->excludes(text);
}

void require_utf8(std::string_view text, std::string_view name) {
  const std::size_t broken = text::find_invalid_utf8(text);
  if (broken != std::string::npos)
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: byte {} is not UTF-8 (found 0x{:02X}); convert the text to UTF-8", name,
                            broken, static_cast<unsigned char>(text[broken])));
}

std::string read_text(const PromptSource& source, Console& console) {
  NamedText read = read_source(source, console);
  require_utf8(read.text, read.name);
  return std::move(read.text);
}

std::string read_prompt(const PromptSource& source, Console& console) {
  std::string text = read_text(source, console);
  const bool typed = source.text && *source.text != "-";
  if (!typed && text.ends_with('\n')) text.pop_back();
  if (!typed && text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace lanner::cli
