// SPDX-License-Identifier: MIT
#include "cli/prompt_source.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iterator>

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

std::string read_all(std::istream& in) {
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) throw Error(ErrorKind::kIo, "standard input could not be read");
  return text;
}

NamedText read_source(const PromptSource& source, Console& console) {
  if (source.text && *source.text != "-") return {*source.text, "the prompt"};
  if (source.file && *source.file != "-")
    return {io::read_text_file(*source.file), io::printable(*source.file)};
  if (!source.given() && console.terminal.in)
    throw Error(ErrorKind::kInvalidArgument, "there is no text; give it with -p TEXT, -f FILE or a pipe");
  return {read_all(console.in), "standard input"};
}

}  // namespace

void add_prompt_options(CLI::App& app, PromptSource& source) {
  CLI::Option* text = app.add_option("-p,--prompt", source.text, "the text; - reads standard input");
  text->type_name("TEXT");
  app.add_option("-f,--file", source.file, "read the text from a file; - reads standard input")
      ->type_name("FILE")
      ->excludes(text);
}

std::string read_text(const PromptSource& source, Console& console) {
  NamedText read = read_source(source, console);
  const std::size_t broken = text::find_invalid_utf8(read.text);
  if (broken != std::string::npos)
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: byte {} is not UTF-8 (found 0x{:02X}); convert the text to UTF-8", read.name,
                            broken, static_cast<unsigned char>(read.text[broken])));
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
