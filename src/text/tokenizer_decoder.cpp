// SPDX-License-Identifier: MIT
#include "text/tokenizer_decoder.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "io/fields.h"
#include "io/message_text.h"
#include "text/bpe_byte_alphabet.h"
#include "text/tokenizer_vocabulary.h"

namespace lanner::text {
namespace {

[[noreturn]] void refuse(const io::Fields& component, std::string_view key, std::string_view reason) {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: {} is {}, {}", component.source(), component.name_of(key),
                          io::describe(*component.find(key)), reason));
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t found = text.find(from); found != std::string_view::npos; found = text.find(from)) {
    out += text.substr(0, found);
    out += to;
    text.remove_prefix(found + from.size());
  }
  out += text;
  return out;
}

std::string_view strip(std::string_view text, std::string_view content, std::size_t start, std::size_t stop) {
  for (; start > 0 && text.starts_with(content); --start) text.remove_prefix(content.size());
  for (; stop > 0 && text.ends_with(content); --stop) text.remove_suffix(content.size());
  return text;
}

}  // namespace

TokenDecoder TokenDecoder::parse(const io::Fields& parent, std::string_view field,
                                 const Vocabulary& vocabulary) {
  TokenDecoder decoder;
  Part reached = Part::kTokens;
  decoder.add_component(parent.required_object(field), reached);
  decoder.decode_tokens(vocabulary);
  return decoder;
}

void TokenDecoder::add_component(const io::Fields& component, Part& reached) {
  const std::string type = component.required_string("type");
  const auto require_before = [&](Part part) {
    if (reached >= part)
      refuse(component, "type", "which lanner supports only further to the front of the decoder");
  };
  if (type == "Sequence") {
    for (const io::Fields& part : component.required_objects("decoders")) add_component(part, reached);
  } else if (type == "Replace") {
    require_before(Part::kBytes);
    add_replace(component);
  } else if (type == "ByteLevel" || type == "ByteFallback") {
    require_before(Part::kBytes);
    mode_ = type == "ByteLevel" ? Mode::kByteLevel : Mode::kByteFallback;
    reached = Part::kBytes;
  } else if (type == "Fuse") {
    reached = Part::kFused;
  } else if (type == "Strip") {
    add_strip(component, reached);
  } else {
    refuse(component, "type",
           "expected one of Sequence, Replace, ByteLevel, ByteFallback, Fuse, Strip; lanner has no other "
           "decoder");
  }
}

void TokenDecoder::add_replace(const io::Fields& component) {
  const io::Fields pattern = component.required_object("pattern");
  if (pattern.has("Regex"))
    refuse(component, "pattern", "expected {\"String\": text}; lanner decodes no expressions");
  Replace step{pattern.required_string("String"), component.required_string("content")};
  if (step.from.empty()) throw pattern.unexpected("String", "at least one character");
  token_steps_.emplace_back(std::move(step));
}

void TokenDecoder::add_strip(const io::Fields& component, Part reached) {
  Strip step{component.required_string("content"),
             static_cast<std::size_t>(component.required_int("start", io::kNotNegative)),
             static_cast<std::size_t>(component.required_int("stop", io::kNotNegative))};
  if (step.content.empty()) throw component.unexpected("content", "one character");
  if (reached == Part::kTokens) {
    token_steps_.emplace_back(std::move(step));
    return;
  }
  if (reached == Part::kBytes)
    refuse(component, "type", "which lanner does not support right behind byte tokens");
  if (step.stop != 0) refuse(component, "stop", "expected 0; lanner strips only the start of a whole text");
  if (leading_strip_.count != 0) refuse(component, "type", "a second time for the whole text");
  leading_strip_ = {std::move(step.content), step.start};
}

void TokenDecoder::decode_tokens(const Vocabulary& vocabulary) {
  entries_.resize(vocabulary.size());
  characters_.reserve(8 * vocabulary.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::string text = apply_steps(vocabulary.text(static_cast<TokenId>(i)));
    Entry& entry = entries_[i];
    if (mode_ == Mode::kByteLevel) text = from_byte_level(text);
    if (mode_ == Mode::kByteFallback) {
      if (const auto byte = fallback_byte(text)) {
        text.assign(1, static_cast<char>(*byte));
        entry.single_byte = true;
      }
    }
    entry.offset = static_cast<std::uint32_t>(characters_.size());
    entry.size = static_cast<std::uint32_t>(text.size());
    characters_ += text;
  }
}

std::string TokenDecoder::apply_steps(std::string_view token) const {
  std::string text(token);
  for (const TokenStep& step : token_steps_) {
    if (const auto* replace = std::get_if<Replace>(&step)) {
      if (text.find(replace->from) != std::string::npos) text = replace_all(text, replace->from, replace->to);
    } else {
      const auto& cut = std::get<Strip>(step);
      text = std::string(strip(text, cut.content, cut.start, cut.stop));
    }
  }
  return text;
}

std::string_view TokenDecoder::bytes(TokenId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= entries_.size()) return {};
  const Entry& entry = entries_[static_cast<std::size_t>(id)];
  return std::string_view(characters_).substr(entry.offset, entry.size);
}

bool TokenDecoder::is_single_byte(TokenId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < entries_.size() &&
         entries_[static_cast<std::size_t>(id)].single_byte;
}

}  // namespace lanner::text
