// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "core/token.h"

namespace lanner::server {

/// The tokens of a conversation while they come: a prompt, then its answer. May be used from any thread.
class TokenTrail {
 public:
  explicit TokenTrail(std::vector<TokenId> prompt) : tokens_(std::move(prompt)) {}

  void add(TokenId id) {
    const std::lock_guard lock(mutex_);
    tokens_.push_back(id);
  }
  std::vector<TokenId> tokens() const {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<TokenId> tokens_;
};

}  // namespace lanner::server
