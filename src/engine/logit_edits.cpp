// SPDX-License-Identifier: MIT
#include "engine/logit_edits.h"

namespace lanner::engine {

device::LogitEdit& LogitEdits::at(TokenId id) {
  device::LogitEdit& edit = edits_[id];
  edit.id = id;
  return edit;
}

void LogitEdits::ban(TokenId id) {
  if (has(id)) at(id).banned = 1;
}

std::vector<device::LogitEdit> LogitEdits::list() const {
  std::vector<device::LogitEdit> edits;
  edits.reserve(edits_.size());
  for (const auto& [id, edit] : edits_) edits.push_back(edit);
  return edits;
}

void LogitEdits::apply(LogitBlocks& logits) const {
  for (const auto& [id, edit] : edits_) logits.set(id, device::edited_logit(edit, logits.value(id)));
}

}  // namespace lanner::engine
