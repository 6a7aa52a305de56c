// SPDX-License-Identifier: MIT
#include "text/tokenizer_json.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "core/error.h"
#include "io/fields.h"
#include "io/json_syntax.h"
#include "io/message_text.h"

namespace lanner::text {
namespace {

using io::Json;

[[noreturn]] void fail(std::string_view source, std::string_view problem) {
  throw Error(ErrorKind::kCorrupt, fmt::format("{}: {}", source, problem));
}

/// Receives the parser's events. Containers in progress stand on `open_`; the vocabulary and the merges are
/// told apart by where they stand and never become Json values.
class TokenizerJsonReader : public nlohmann::json_sax<Json> {
 public:
  TokenizerJsonReader(std::string_view text, TokenizerFile& file) : text_(text), file_(file) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool binary(Json::binary_t& value) override { return add(Json::binary(value)); }
  bool number_integer(std::int64_t value) override {
    return place_ == Place::kVocab ? add_vocab_entry(value) : add(value);
  }
  bool number_unsigned(std::uint64_t value) override {
    if (place_ != Place::kVocab) return add(value);
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return add_vocab_entry(static_cast<std::int64_t>(value < kMax ? value : kMax));
  }
  bool string(std::string& value) override {
    return place_ == Place::kMerges || place_ == Place::kMergePair ? add_merge_text(value)
                                                                   : add(std::move(value));
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOther && is_model_field("vocab")) {
      place_ = Place::kVocab;
      return true;
    }
    return open(Json::object());
  }
  bool start_array(std::size_t) override {
    if (place_ == Place::kMerges) {
      place_ = Place::kMergePair;
      pair_size_ = 0;
      return true;
    }
    if (place_ == Place::kOther && is_model_field("merges")) {
      place_ = Place::kMerges;
      return true;
    }
    return open(Json::array());
  }
  bool key(std::string& name) override {
    if (place_ == Place::kVocab) {
      entry_text_ = store(name);
    } else {
      keys_.back() = std::move(name);
    }
    return true;
  }
  bool end_object() override { return place_ == Place::kVocab ? leave_table() : close(); }
  bool end_array() override {
    if (place_ == Place::kMerges) return leave_table();
    if (place_ != Place::kMergePair) return close();
    if (pair_size_ != 2) fail_in_merge(fmt::format("an array of {} strings", pair_size_));
    place_ = Place::kMerges;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const std::size_t offset = position == 0 ? 0 : position - 1;
    fail(file_.source,
         fmt::format("{}: {}", io::text_position(text_, offset), io::syntax_complaint(error.what())));
  }

 private:
  enum class Place { kOther, kVocab, kMerges, kMergePair };

  bool is_model_field(std::string_view name) const {
    return open_.size() == 2 && keys_[0] == "model" && keys_[1] == name;
  }

  bool add(Json value) {
    place_value(std::move(value));
    return true;
  }

  Json* place_value(Json value) {
    if (place_ == Place::kVocab) {
      fail(file_.source, fmt::format("model.vocab[{}] is {}, expected an integer",
                                     io::in_quotes(file_.text(entry_text_)), io::describe(value)));
    }
    if (place_ != Place::kOther) fail_in_merge(io::describe(value));
    if (open_.empty()) return &(file_.json = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_object()) return &(parent[keys_.back()] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool open(Json container) {
    if (open_.size() == io::kMaxJsonDepth) {
      fail(file_.source,
           fmt::format("arrays and objects are nested deeper than {} levels", io::kMaxJsonDepth));
    }
    open_.push_back(place_value(std::move(container)));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }
  bool leave_table() {
    place_ = Place::kOther;
    return true;
  }

  TokenizerFile::TextRange store(std::string_view text) {
    const auto offset = static_cast<std::uint32_t>(file_.characters.size());
    file_.characters += text;
    return {offset, static_cast<std::uint32_t>(text.size())};
  }

  bool add_vocab_entry(std::int64_t id) {
    file_.vocab.push_back({entry_text_, id});
    return true;
  }

  bool add_merge_text(std::string_view text) {
    if (place_ == Place::kMergePair) {
      if (pair_size_ == 0) pair_left_ = store(text);
      if (pair_size_ == 1) file_.merges.push_back({pair_left_, store(text)});
      ++pair_size_;
      return true;
    }
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      fail_in_merge(io::in_quotes(text) + " (string)");
    }
    const TokenizerFile::TextRange left = store(text.substr(0, space));
    file_.merges.push_back({left, store(text.substr(space + 1))});
    return true;
  }

  [[noreturn]] void fail_in_merge(std::string_view found) {
    const std::size_t complete =
        file_.merges.size() - (place_ == Place::kMergePair && pair_size_ >= 2 ? 1 : 0);
    fail(file_.source,
         fmt::format("model.merges[{}] is or holds {}, expected \"left right\" or [\"left\", \"right\"]",
                     complete, found));
  }

  std::string_view text_;
  TokenizerFile& file_;
  std::vector<Json*> open_;
  std::vector<std::string> keys_;  ///< One for each open container: the object key being read.
  Place place_ = Place::kOther;
  TokenizerFile::TextRange entry_text_, pair_left_;
  std::size_t pair_size_ = 0;
};

}  // namespace

TokenizerFile parse_tokenizer_json(std::string_view text, std::string source) {
  TokenizerFile file;
  file.source = std::move(source);
  if (io::is_lfs_pointer(text)) {
    fail(file.source, "is a git-lfs pointer, not the file itself; run \"git lfs pull\" or download the file");
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    fail(file.source, "is empty, expected JSON");
  // The parser takes a zero byte for the end of the text and would ignore what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    fail(file.source, fmt::format("{}: zero byte, expected JSON text", io::text_position(text, zero)));
  }
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) fail(file.source, "is larger than 4 GB");
  file.characters.reserve(text.size() / 2);
  TokenizerJsonReader reader(text, file);
  try {
    Json::sax_parse(text, &reader);
  } catch (const Json::exception& error) {  // a number too large for a double
    fail(file.source, io::syntax_complaint(error.what()));
  }
  return file;
}

}  // namespace lanner::text
