// SPDX-License-Identifier: MIT
#include "text/bpe.h"

#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "io/fields.h"
#include "io/message_text.h"
#include "text/bpe_byte_alphabet.h"
#include "text/unicode.h"

namespace lanner::text {
namespace {

Error unsupported_field(const io::Fields& model, std::string_view key, std::string_view expected) {
  return Error(ErrorKind::kUnsupported,
               fmt::format("{}: {} is {}, expected {}; lanner does not support it", model.source(),
                           model.name_of(key), io::describe(*model.find(key)), expected));
}

char32_t last_code_point(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return next_code_point(text, begin);
}

}  // namespace

Bpe Bpe::parse(const io::Fields& model, const TokenizerFile& file, const Vocabulary& vocabulary,
               BpeAlphabet alphabet) {
  Bpe bpe;
  bpe.alphabet_ = alphabet;
  bpe.read_options(model, vocabulary);
  bpe.read_symbols(vocabulary);
  bpe.read_merges(file, vocabulary);
  return bpe;
}

void Bpe::read_options(const io::Fields& model, const Vocabulary& vocabulary) {
  if (model.optional_number("dropout", 0) != 0) throw unsupported_field(model, "dropout", "null or 0");
  for (std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.optional_string(affix, "").empty()) throw unsupported_field(model, affix, "null or \"\"");
  }
  if (const std::optional<std::string> text = model.find_string("unk_token")) {
    unknown_ = vocabulary.find(*text);
    if (!unknown_) throw model.unexpected("unk_token", "a token of model.vocab");
  }
  fuse_unknown_ = model.optional_bool("fuse_unk", false);
  byte_fallback_ = model.optional_bool("byte_fallback", false);
  whole_pieces_first_ = model.optional_bool("ignore_merges", false);
}

void Bpe::read_symbols(const Vocabulary& vocabulary) {
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string_view text = vocabulary.text(id);
    if (text.empty() || text.size() > 4) continue;
    std::size_t end = 0;
    const char32_t character = next_code_point(text, end);
    if (end == text.size()) characters_.set(character, static_cast<std::uint64_t>(id));
  }
  for (unsigned i = 0; i < 256; ++i) {
    const auto byte = static_cast<unsigned char>(i);
    bytes_[i] = character_symbol(byte_level_character(byte));
    fallback_tokens_[i] = vocabulary.find(fallback_token(byte)).value_or(kNoSymbol);
  }
  for (unsigned i = 0; i < 128; ++i) ascii_[i] = character_symbol(i);
}

TokenId Bpe::character_symbol(char32_t character) const {
  const std::uint64_t* id = characters_.find(character);
  return id == nullptr ? kNoSymbol : static_cast<TokenId>(*id);
}

void Bpe::read_merges(const TokenizerFile& file, const Vocabulary& vocabulary) {
  merges_ = FlatMap64(file.merges.size());
  std::string joined;
  for (std::size_t rank = 0; rank < file.merges.size(); ++rank) {
    const std::string_view left = file.text(file.merges[rank].left),
                           right = file.text(file.merges[rank].right);
    joined.assign(left).append(right);
    const auto token = [&](std::string_view text) {
      const std::optional<TokenId> id = vocabulary.find(text);
      if (id) return *id;
      throw Error(
          ErrorKind::kCorrupt,
          fmt::format("{}: model.merges[{}] joins {} and {}, but {} is not in model.vocab", file.source, rank,
                      io::in_quotes(left), io::in_quotes(right), io::in_quotes(text)));
    };
    const TokenId left_id = token(left), right_id = token(right), joined_id = token(joined);
    merges_.set(pair_key(left_id, right_id),
                std::uint64_t{rank} << 32 | static_cast<std::uint32_t>(joined_id));
    add_neighbours(left, right);
    // Such a token enters as one symbol though its text has six: the cuts below would not see that.
    if (byte_fallback_ && (fallback_byte(left) || fallback_byte(right))) cuts_words_ = false;
  }
}

void Bpe::add_neighbours(std::string_view left, std::string_view right) {
  if (left.empty() || right.empty()) {
    cuts_words_ = false;
    return;
  }
  std::size_t first = 0;
  const TokenId left_symbol = character_symbol(last_code_point(left));
  const TokenId right_symbol = character_symbol(next_code_point(right, first));
  if (left_symbol != kNoSymbol && right_symbol != kNoSymbol)
    neighbours_.set(pair_key(left_symbol, right_symbol), 1);
}

}  // namespace lanner::text
