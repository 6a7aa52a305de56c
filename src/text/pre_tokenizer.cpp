// SPDX-License-Identifier: MIT
#include "text/pre_tokenizer.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/error.h"
#include "io/fields.h"
#include "io/message_text.h"
#include "text/unicode.h"

namespace lanner::text {
namespace {

/// What ByteLevel cuts by: the pattern of GPT-2.
constexpr std::string_view kByteLevelExpression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Receives matches and the stretches between them, in order, and adds pieces as the behavior says.
class Cutter {
 public:
  Cutter(Piece whole, SplitBehavior behavior, std::vector<Piece>& out)
      : whole_(whole), behavior_(behavior), out_(out) {}

  void add(TextPattern::Match part, bool is_match) {
    switch (behavior_) {
      case SplitBehavior::kIsolated:
        emit(part.begin, part.end);
        break;
      case SplitBehavior::kRemoved:
        if (!is_match) emit(part.begin, part.end);
        break;
      case SplitBehavior::kContiguous:
        if (is_match != previous_match_) flush(part.begin);
        break;
      case SplitBehavior::kMergedWithPrevious:
        if (!is_match || previous_match_) flush(part.begin);
        break;
      case SplitBehavior::kMergedWithNext:
        if (!(previous_match_ && !is_match)) flush(part.begin);
        break;
    }
    previous_match_ = is_match;
  }

  void finish() {
    if (behavior_ != SplitBehavior::kIsolated && behavior_ != SplitBehavior::kRemoved)
      flush(whole_.text.size());
  }

 private:
  void flush(std::size_t end) {
    if (end > begin_) emit(begin_, end);
    begin_ = end;
  }
  void emit(std::size_t begin, std::size_t end) {
    if (begin == end) return;
    out_.push_back({whole_.text.substr(begin, end - begin), whole_.at_text_start && begin == 0});
  }

  Piece whole_;
  SplitBehavior behavior_;
  std::vector<Piece>& out_;
  std::size_t begin_ = 0;
  bool previous_match_ = false;
};

SplitBehavior parse_behavior(const io::Fields& component) {
  const std::string name = component.required_string("behavior");
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format(
          "{}: {} is {}, expected Isolated, Removed, MergedWithPrevious, MergedWithNext or Contiguous",
          component.source(), component.name_of("behavior"), io::in_quotes(name)));
}

}  // namespace

PreTokenizer PreTokenizer::parse(const io::Fields& parent, std::string_view field) {
  PreTokenizer pre_tokenizer;
  if (const auto component = parent.find_object(field)) pre_tokenizer.add_component(*component);
  return pre_tokenizer;
}

void PreTokenizer::add_component(const io::Fields& component) {
  const std::string type = component.required_string("type");
  if (byte_level_) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: {} is {} and comes after ByteLevel, which must be the last "
                            "pre-tokenizer for lanner",
                            component.source(), component.name_of("type"), io::in_quotes(type)));
  }
  if (type == "Sequence") {
    for (const io::Fields& part : component.required_objects("pretokenizers")) add_component(part);
  } else if (type == "Split") {
    steps_.emplace_back(parse_split(component));
  } else if (type == "ByteLevel") {
    add_byte_level(component);
  } else if (type == "Digits") {
    steps_.emplace_back(Digits{component.optional_bool("individual_digits", false)});
  } else if (type == "Metaspace") {
    steps_.emplace_back(parse_metaspace(component));
  } else {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: {} is {}, expected one of Sequence, Split, ByteLevel, Digits, Metaspace; lanner has "
                    "no other pre-tokenizer",
                    component.source(), component.name_of("type"), io::in_quotes(type)));
  }
}

void PreTokenizer::add_byte_level(const io::Fields& component) {
  if (component.optional_bool("add_prefix_space", true)) steps_.emplace_back(PrefixSpace{});
  if (component.optional_bool("use_regex", true)) {
    steps_.emplace_back(Split{TextPattern::regex(kByteLevelExpression, "the pattern of ByteLevel")});
  }
  byte_level_ = true;
}

PreTokenizer::Split PreTokenizer::parse_split(const io::Fields& component) {
  return {TextPattern::parse(component), parse_behavior(component), component.optional_bool("invert", false)};
}

PreTokenizer::Metaspace PreTokenizer::parse_metaspace(const io::Fields& component) {
  Metaspace step{component.required_string("replacement"), PrependScheme::kAlways,
                 component.optional_bool("split", true)};
  if (step.replacement.empty()) throw component.unexpected("replacement", "one character");
  const bool old_spelling = component.optional_bool("add_prefix_space", true);
  const std::string scheme = component.optional_string("prepend_scheme", old_spelling ? "always" : "never");
  if (scheme == "first") {
    step.prepend = PrependScheme::kFirst;
  } else if (scheme == "never") {
    step.prepend = PrependScheme::kNever;
  } else if (scheme != "always") {
    throw component.unexpected("prepend_scheme", "always, first or never");
  }
  return step;
}

void PreTokenizer::split(Piece text, Pieces& pieces) const {
  pieces.list.clear();
  pieces.storage.clear();
  if (text.text.empty()) return;
  pieces.list.push_back(text);
  for (const Step& step : steps_) {
    const std::vector<Piece> whole = std::exchange(pieces.list, {});
    for (const Piece& piece : whole) {
      std::visit([&](const auto& known) { apply_step(known, piece, pieces); }, step);
    }
  }
}

void PreTokenizer::apply_step(const Split& step, Piece piece, Pieces& pieces) {
  Cutter cutter(piece, step.behavior, pieces.list);
  TextPattern::Search search(step.pattern, piece.text);
  std::size_t done = 0;
  while (const std::optional<TextPattern::Match> match = search.next()) {
    if (done < match->begin) cutter.add({done, match->begin}, step.inverted);
    cutter.add(*match, !step.inverted);
    done = match->end;
  }
  if (done < piece.text.size()) cutter.add({done, piece.text.size()}, step.inverted);
  cutter.finish();
}

void PreTokenizer::apply_step(const Digits& step, Piece piece, Pieces& pieces) {
  Cutter cutter(piece, step.individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous, pieces.list);
  std::size_t other_begin = 0;
  for (std::size_t position = 0; position < piece.text.size();) {
    const std::size_t begin = position;
    if (!is_numeric(next_code_point(piece.text, position))) continue;
    if (other_begin < begin) cutter.add({other_begin, begin}, false);
    cutter.add({begin, position}, true);
    other_begin = position;
  }
  if (other_begin < piece.text.size()) cutter.add({other_begin, piece.text.size()}, false);
  cutter.finish();
}

void PreTokenizer::apply_step(const Metaspace& step, Piece piece, Pieces& pieces) {
  std::string& text = pieces.storage.emplace_back();
  for (char c : piece.text) {
    if (c == ' ') {
      text += step.replacement;
    } else {
      text += c;
    }
  }
  const bool prepend = step.prepend == PrependScheme::kAlways ||
                       (step.prepend == PrependScheme::kFirst && piece.at_text_start);
  if (prepend && !text.starts_with(step.replacement)) text.insert(0, step.replacement);
  if (step.split) {
    const Split split{TextPattern::literal(step.replacement), SplitBehavior::kMergedWithNext};
    apply_step(split, {text, piece.at_text_start}, pieces);
  } else {
    pieces.list.push_back({text, piece.at_text_start});
  }
}

void PreTokenizer::apply_step(const PrefixSpace&, Piece piece, Pieces& pieces) {
  if (piece.text.starts_with(' ')) {
    pieces.list.push_back(piece);
    return;
  }
  std::string& text = pieces.storage.emplace_back(" ");
  text += piece.text;
  pieces.list.push_back({text, piece.at_text_start});
}

}  // namespace lanner::text
