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

void LogitEdits::apply(std::span<float> logits) const {
  for (const auto& [id, edit] : edits_) {
    float& logit = logits[static_cast<std::size_t>(id)];
    logit = device::edited_logit(edit, logit);
  }
}

}  // namespace lanner::engine
