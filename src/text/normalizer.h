// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/tokenizer_pattern.h"

namespace lanner::io {
class Fields;
}

namespace lanner::text {

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

/// `text`, well-formed UTF-8, in a Unicode normalization form. O(n log n) also for text of combining marks
/// only.
std::string normalize_unicode(std::string_view text, UnicodeForm form);

/// The `normalizer` of a tokenizer.json: what happens to text before it is cut into words. Supported types:
/// Sequence, Replace, Prepend, Strip, Lowercase, NFC, NFD, NFKC, NFKD.
class Normalizer {
 public:
  Normalizer() = default;  ///< Leaves text alone.
  /// Reads `field` of `parent` (absent: leaves text alone). Throws Error kUnsupported for another type.
  static Normalizer parse(const io::Fields& parent, std::string_view field);

  /// The normalized text: either `text` itself or a view of `storage`. `text` must be well-formed UTF-8.
  std::string_view apply(std::string_view text, std::string& storage) const;

 private:
  struct Replace {
    TextPattern pattern;
    std::string content;
  };
  struct Prepend {
    std::string text;
  };
  struct Strip {
    bool left = false, right = false;
  };
  struct Lowercase {};
  using Step = std::variant<Replace, Prepend, Strip, Lowercase, UnicodeForm>;

  void add_component(const io::Fields& component);
  static std::string_view apply_step(const Replace& step, std::string_view text, std::string& storage);
  static std::string_view apply_step(const Prepend& step, std::string_view text, std::string& storage);
  static std::string_view apply_step(const Strip& step, std::string_view text, std::string& storage);
  static std::string_view apply_step(const Lowercase& step, std::string_view text, std::string& storage);
  static std::string_view apply_step(const UnicodeForm& form, std::string_view text, std::string& storage);

  std::vector<Step> steps_;
};

}  // namespace lanner::text
