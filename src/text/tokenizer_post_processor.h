// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "core/token.h"

namespace lanner::io {
class Fields;
}

namespace lanner::text {

class Vocabulary;

/// The `post_processor` of a tokenizer.json as far as it concerns one text: tokens that stand before and
/// behind it. Supported types: Sequence, TemplateProcessing, ByteLevel (adds nothing).
struct PostProcessor {
  std::vector<TokenId> before, after;

  /// Reads `field` of `parent` (absent: adds nothing). Throws Error: kUnsupported for another type or a
  /// template that does not hold its text once, kCorrupt for a token outside the vocabulary.
  static PostProcessor parse(const io::Fields& parent, std::string_view field, const Vocabulary& vocabulary);
};

}  // namespace lanner::text
