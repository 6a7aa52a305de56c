// SPDX-License-Identifier: MIT
#include "text/tokenizer_added_tokens.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "io/fields.h"
#include "io/message_text.h"
#include "text/tokenizer_vocabulary.h"

namespace lanner::text {
namespace {

constexpr io::IntRange kTokenIds{0, kMaxTokenId - 1};

AddedToken read_token(const io::Fields& fields, TokenId id) {
  AddedToken token{.id = id, .content = fields.required_string("content")};
  token.special = fields.optional_bool("special", false);
  token.normalized = fields.optional_bool("normalized", !token.special);
  token.lstrip = fields.optional_bool("lstrip", false);
  token.rstrip = fields.optional_bool("rstrip", false);
  token.single_word = fields.optional_bool("single_word", false);
  return token;
}

void ensure_in_vocabulary(const AddedToken& token, const io::Fields& fields, Vocabulary& vocabulary) {
  const std::optional<TokenId> known = vocabulary.find(token.content);
  if (known == token.id) return;
  const std::string place = fmt::format("{}: {} gives {} the id {}", fields.source(),
                                        fields.name_of("content"), io::in_quotes(token.content), token.id);
  if (known)
    throw Error(ErrorKind::kCorrupt, fmt::format("{}, but the vocabulary gives it {}", place, *known));
  if (vocabulary.add(token.content, token.id) != Vocabulary::AddResult::kAdded) {
    throw Error(ErrorKind::kCorrupt,
                fmt::format("{}, which belongs to {}", place, io::in_quotes(vocabulary.text(token.id))));
  }
}

TokenId read_id_key(const io::Fields& decoder, const std::string& key) {
  std::int64_t id = -1;
  const char* end = key.data() + key.size();
  const auto result = std::from_chars(key.data(), end, id);
  if (result.ec != std::errc() || result.ptr != end || id < 0 || id > kTokenIds.max) {
    throw Error(ErrorKind::kCorrupt,
                fmt::format("{}: {} is not a token id, expected an integer from 0 to {}", decoder.source(),
                            decoder.name_of(io::printable(key)), kTokenIds.max));
  }
  return static_cast<TokenId>(id);
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const io::Fields& tokenizer,
                                          const std::optional<io::Fields>& config, Vocabulary& vocabulary) {
  std::vector<AddedToken> tokens;
  std::unordered_map<TokenId, std::size_t> index;
  const auto take = [&](AddedToken token, const io::Fields& fields) {
    token.in_model = vocabulary.contains(token.id);
    ensure_in_vocabulary(token, fields, vocabulary);
    const auto [known, is_new] = index.try_emplace(token.id, tokens.size());
    if (is_new) {
      tokens.push_back(std::move(token));
    } else {
      token.in_model = tokens[known->second].in_model;
      tokens[known->second] = std::move(token);
    }
  };
  if (tokenizer.has("added_tokens")) {
    for (const io::Fields& fields : tokenizer.required_objects("added_tokens")) {
      take(read_token(fields, static_cast<TokenId>(fields.required_int("id", kTokenIds))), fields);
    }
  }
  const auto decoder = config ? config->find_object("added_tokens_decoder") : std::nullopt;
  if (!decoder) return tokens;
  for (const std::string& key : decoder->keys()) {
    const io::Fields fields = decoder->required_object(key);
    take(read_token(fields, read_id_key(*decoder, key)), fields);
  }
  return tokens;
}

}  // namespace lanner::text
