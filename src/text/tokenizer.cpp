// SPDX-License-Identifier: MIT
#include "text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "io/fields.h"
#include "io/message_text.h"
#include "io/text_file.h"
#include "text/detokenizer.h"
#include "text/tokenizer_added_tokens.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"

namespace lanner::text {
namespace {

Vocabulary read_vocabulary(const TokenizerFile& file) {
  Vocabulary vocabulary(file.vocab.size());
  const auto fail = [&](const TokenizerFile::VocabEntry& entry, std::string_view problem) {
    throw Error(ErrorKind::kCorrupt, fmt::format("{}: model.vocab[{}] is {}, {}", file.source,
                                                 io::in_quotes(file.text(entry.text)), entry.id, problem));
  };
  for (const TokenizerFile::VocabEntry& entry : file.vocab) {
    if (entry.id < 0 || entry.id >= kMaxTokenId) {
      fail(entry, fmt::format("expected an integer from 0 to {}", kMaxTokenId - 1));
    }
    const auto id = static_cast<TokenId>(entry.id);
    switch (vocabulary.add(file.text(entry.text), id)) {
      case Vocabulary::AddResult::kAdded:
        break;
      case Vocabulary::AddResult::kIdTaken:
        fail(entry, fmt::format("an id that {} has already", io::in_quotes(vocabulary.text(id))));
        break;
      case Vocabulary::AddResult::kTextTaken:
        fail(entry, "the second id of the same text");
        break;
    }
  }
  return vocabulary;
}

void require_bpe(const io::Fields& model, const TokenizerFile& file) {
  const std::string type = model.optional_string("type", "BPE");
  if (type != "BPE") {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: {} is {}, expected \"BPE\"; lanner has no other model", file.source,
                            model.name_of("type"), io::in_quotes(type)));
  }
  if (file.vocab.empty()) throw model.unexpected("vocab", "an object of tokens and ids");
}

}  // namespace

Tokenizer Tokenizer::load(const std::filesystem::path& tokenizer_json,
                          const std::optional<std::filesystem::path>& tokenizer_config_json) {
  const std::string text = io::read_text_file(tokenizer_json);
  std::optional<std::string> config;
  if (tokenizer_config_json) config = io::read_text_file(*tokenizer_config_json);
  return parse(text, io::printable(tokenizer_json.filename().native()), config);
}

Tokenizer Tokenizer::parse(std::string_view tokenizer_json, std::string_view source,
                           std::optional<std::string_view> tokenizer_config_json) {
  const TokenizerFile file = parse_tokenizer_json(tokenizer_json, std::string(source));
  const io::Fields root(file.json, file.source);
  const io::Fields model = root.required_object("model");
  require_bpe(model, file);

  std::optional<io::Json> config;
  std::optional<io::Fields> config_fields;
  if (tokenizer_config_json) {
    config = io::parse_json(*tokenizer_config_json, "tokenizer_config.json");
    config_fields.emplace(*config, "tokenizer_config.json");
  }

  Tokenizer tokenizer;
  tokenizer.vocabulary_ = read_vocabulary(file);
  tokenizer.normalizer_ = Normalizer::parse(root, "normalizer");
  tokenizer.pre_tokenizer_ = PreTokenizer::parse(root, "pre_tokenizer");
  const BpeAlphabet alphabet =
      tokenizer.pre_tokenizer_.byte_level() ? BpeAlphabet::kBytes : BpeAlphabet::kCharacters;
  tokenizer.model_ = Bpe::parse(model, file, tokenizer.vocabulary_, alphabet);
  // From here on the vocabulary holds tokens that the model cannot produce.
  tokenizer.added_tokens_ =
      AddedTokens(read_added_tokens(root, config_fields, tokenizer.vocabulary_), tokenizer.normalizer_);
  tokenizer.special_.resize(tokenizer.vocabulary_.size());
  for (const AddedToken& token : tokenizer.added_tokens_.tokens()) {
    tokenizer.special_[static_cast<std::size_t>(token.id)] = token.special;
  }
  tokenizer.decoder_ = TokenDecoder::parse(root, "decoder", tokenizer.vocabulary_);
  tokenizer.post_processor_ = PostProcessor::parse(root, "post_processor", tokenizer.vocabulary_);
  return tokenizer;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  if (const std::size_t invalid = find_invalid_utf8(text); invalid != std::string_view::npos) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("the text is not UTF-8: byte {} is 0x{:02X}",
                                                         invalid, static_cast<unsigned char>(text[invalid])));
  }
  std::vector<TokenId> out;
  out.reserve(8 + text.size() / 3);
  const auto surround = [&](const std::vector<TokenId>& ids) {
    if (options.surround == Surround::kPostProcessor) out.insert(out.end(), ids.begin(), ids.end());
  };
  surround(post_processor_.before);
  BpeEncoder encoder(model_, vocabulary_);
  for (const AddedTokens::Part& part :
       added_tokens_.split(text, AddedTokens::Stage::kRaw, options.added_tokens, options.literal)) {
    if (part.token) {
      out.push_back(*part.token);
    } else {
      encode_between_raw_tokens(text, part.span, options, encoder, out);
    }
  }
  surround(post_processor_.after);
  return out;
}

void Tokenizer::encode_between_raw_tokens(std::string_view text, TextSpan span, const EncodeOptions& options,
                                          BpeEncoder& encoder, std::vector<TokenId>& out) const {
  std::string storage;
  const std::string_view normalized =
      normalizer_.apply(text.substr(span.begin, span.end - span.begin), storage);
  const bool at_start = span.begin == 0;
  const bool holds_literal =
      std::any_of(options.literal.begin(), options.literal.end(),
                  [&](TextSpan literal) { return literal.begin < span.end && span.begin < literal.end; });
  // Offsets of literal parts are lost in normalized text, so there the whole stretch counts as one.
  const AddedTokenUse use = holds_literal ? AddedTokenUse::kNotMarkers : options.added_tokens;
  for (const AddedTokens::Part& part :
       added_tokens_.split(normalized, AddedTokens::Stage::kNormalized, use, {})) {
    if (part.token) {
      out.push_back(*part.token);
    } else {
      const std::string_view piece = normalized.substr(part.span.begin, part.span.end - part.span.begin);
      encode_normalized({piece, at_start && part.span.begin == 0}, encoder, out);
    }
  }
}

void Tokenizer::encode_normalized(Piece text, BpeEncoder& encoder, std::vector<TokenId>& out) const {
  Pieces pieces;
  pre_tokenizer_.split(text, pieces);
  for (const Piece& piece : pieces.list) encoder.encode(piece.text, out);
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  std::string text;
  Detokenizer detokenizer(*this, options);
  for (TokenId id : ids) detokenizer.push(id, text);
  detokenizer.finish(text);
  return text;
}

bool Tokenizer::is_special(TokenId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < special_.size() && special_[static_cast<std::size_t>(id)];
}

}  // namespace lanner::text
