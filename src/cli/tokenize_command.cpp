// SPDX-License-Identifier: MIT
#include "cli/tokenize_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>

#include "cli/exit_code.h"
#include "cli/token_ids.h"
#include "core/error.h"
#include "engine/text_parts.h"
#include "io/json.h"
#include "io/message_text.h"

namespace lanner::cli {
namespace {

struct Request {
  std::string folder;
  PromptSource source;
};

bool is_folder(const std::string& text) {
  std::error_code ignored;
  return std::filesystem::is_directory(text, ignored);
}

/// A single positional is the folder when the text comes from elsewhere, and the text otherwise; a name of an
/// existing folder in front of a pipe is the folder too.
Request split_words(const TokenizeOptions& options, const Console& console) {
  Request request{.folder = {}, .source = options.prompt};
  if (options.words.size() > 2)
    throw CLI::ValidationError(
        "TEXT", "more than FOLDER and one text are given; put quotes around a text of several words");
  const bool text_elsewhere = options.prompt.given() || !options.decode.empty();
  if (options.words.size() == 2) {
    if (text_elsewhere)
      throw CLI::ValidationError("TEXT", "the text is given twice, as the second argument and by an option");
    request.folder = options.words[0];
    request.source.text = options.words[1];
  } else if (options.words.size() == 1) {
    const std::string& word = options.words[0];
    if (text_elsewhere || (!console.terminal.in && is_folder(word)))
      request.folder = word;
    else
      request.source.text = word;
  }
  return request;
}

std::string decoded_text(const engine::TextParts& parts, const std::vector<TokenId>& ids) {
  const std::size_t vocabulary = parts.tokenizer().vocab_size();
  for (TokenId id : ids)
    if (static_cast<std::size_t>(id) >= vocabulary)
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("token id {} is outside the vocabulary, expected 0 to {}", id, vocabulary - 1));
  return parts.tokenizer().decode(ids);
}

std::vector<TokenId> encode(const engine::TextParts& parts, const TokenizeOptions& options,
                            const std::string& text) {
  if (options.chat) {
    text::ChatInput input;
    input.messages.push_back({{"role", "user"}, {"content", text}});
    return parts.encode_chat(input);
  }
  return options.bos ? parts.encode_plain(text) : parts.tokenizer().encode(text);
}

void print_ids(const engine::TextParts& parts, const TokenizeOptions& options,
               const std::vector<TokenId>& ids, std::ostream& out) {
  if (options.json) {
    io::Json object{{"ids", ids}, {"count", ids.size()}};
    for (TokenId id : ids) object["pieces"].push_back(parts.tokenizer().token_text(id));
    out << object.dump() << '\n';
  } else if (options.pieces) {
    for (TokenId id : ids) out << id << '\t' << io::printable(parts.tokenizer().token_text(id)) << '\n';
  } else {
    out << fmt::format("{}\n", fmt::join(ids, ","));
  }
}

}  // namespace

void declare_tokenize(CLI::App& app, TokenizeOptions& options) {
  app.add_option("WORDS", options.words,
                 "[FOLDER] [TEXT]; one word is TEXT unless -p, -f or --decode gives it")
      ->type_name("")
      ->take_all()
      ->expected(0, 2);
  add_prompt_options(app, options.prompt);
  add_token_ids(app, "--decode", options.decode, "print the text of these token ids instead");
  app.add_flag("--pieces", options.pieces,
               "one line per token: id, tab, the token as tokenizer.json spells it");
  app.add_flag("--json", options.json, "one JSON object: ids, pieces, count");
  CLI::Option* chat =
      app.add_flag("--chat", options.chat, "put the text into the chat template as the user's turn");
  app.add_flag("--bos", options.bos, "begin with the family's <bos>, as run --raw does")->excludes(chat);
  set_examples(app,
               "  lanner tokenize \"Hello, world\"\n"
               "  lanner tokenize FOLDER \"Hello, world\" --pieces\n"
               "  lanner tokenize FOLDER -f book.txt --json\n"
               "  lanner tokenize FOLDER --decode 2,17,99\n");
}

int tokenize_command(const TokenizeOptions& options, Console& console) {
  const Request request = split_words(options, console);
  const engine::TextParts parts(find_model_folder(request.folder, options.model.places));
  if (!options.decode.empty()) {
    const std::string text = decoded_text(parts, options.decode);
    console.out << (options.json ? io::Json{{"text", text}}.dump() : text) << '\n';
    return kExitOk;
  }
  const std::string text = read_prompt(request.source, console);
  print_ids(parts, options, encode(parts, options, text), console.out);
  return kExitOk;
}

}  // namespace lanner::cli
