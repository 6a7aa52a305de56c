// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "core/token.h"
#include "device/sampling.h"
#include "engine/logit_blocks.h"

namespace lanner::engine {

/// What is to be done to single logits of one row before a token is chosen from it; see device::LogitEdit.
class LogitEdits {
 public:
  /// Of a row with `columns` logits; edits of other ids are forgotten.
  explicit LogitEdits(std::size_t columns) : columns_(columns) {}

  bool has(TokenId id) const { return id >= 0 && static_cast<std::size_t>(id) < columns_; }
  /// The edit of an id that has() a logit.
  device::LogitEdit& at(TokenId id);
  void ban(TokenId id);
  std::size_t columns() const { return columns_; }

  /// Ascending by id.
  std::vector<device::LogitEdit> list() const;
  void apply(LogitBlocks& logits) const;

 private:
  std::size_t columns_;
  std::map<TokenId, device::LogitEdit> edits_;
};

}  // namespace lanner::engine
