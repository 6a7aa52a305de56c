// SPDX-License-Identifier: MIT
#include "engine/text_parts.h"

#include <fmt/format.h>

#include "core/error.h"
#include "io/folder_listing.h"
#include "io/message_text.h"

namespace lanner::engine {
namespace {

constexpr std::string_view kGemmaBos = "<bos>";

text::Tokenizer load_tokenizer(const std::filesystem::path& folder) {
  const io::FolderListing listing(folder);
  if (!listing.has("tokenizer.json"))
    throw Error(ErrorKind::kNotFound,
                fmt::format("{}: has no tokenizer.json, needed to turn text into tokens; copy the model's",
                            io::printable(folder.native())));
  std::optional<std::filesystem::path> config;
  if (listing.has("tokenizer_config.json")) config = folder / "tokenizer_config.json";
  return text::Tokenizer::load(folder / "tokenizer.json", config);
}

}  // namespace

TextParts::TextParts(const std::filesystem::path& folder)
    : folder_(folder), tokenizer_(load_tokenizer(folder)), chat_template_(text::ChatTemplate::find(folder)) {}

const text::ChatTemplate& TextParts::chat_template() const {
  if (!chat_template_)
    throw Error(
        ErrorKind::kNotFound,
        fmt::format(
            "{}: has no chat template (chat_template.jinja, or chat_template in tokenizer_config.json); "
            "use a prompt without template (--raw)",
            io::printable(folder_.native())));
  return *chat_template_;
}

std::vector<TokenId> TextParts::encode_plain(std::string_view text) const {
  std::vector<TokenId> ids = tokenizer_.encode(text);
  const auto bos = tokenizer_.token_id(kGemmaBos);
  if (bos && (ids.empty() || ids.front() != *bos)) ids.insert(ids.begin(), *bos);
  return ids;
}

std::vector<TokenId> TextParts::encode_chat(const text::ChatInput& input) const {
  text::RenderedChat chat = chat_template().render(input);
  std::vector<TokenId> ids = tokenizer_.encode(chat.text, {.literal = std::move(chat.literal)});
  const auto bos = tokenizer_.token_id(kGemmaBos);
  if (bos && ids.size() > 1 && ids[0] == *bos && ids[1] == *bos) ids.erase(ids.begin());
  return ids;
}

}  // namespace lanner::engine
