// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/adapter_set.h"
#include "engine/pooling.h"
#include "engine/sampling_options.h"

namespace lanner::server {

/// What happens to fields of a request that no route knows.
enum class UnknownFields : std::uint8_t { kIgnored, kRefused };
/// What a model name that is not the served one gets.
enum class UnknownModels : std::uint8_t { kServed, kRefused };
/// What the thoughts of an answer are called.
enum class ReasoningField : std::uint8_t { kReasoningContent, kReasoning, kBoth };

/// What requests are read with: the model's limits and the server's defaults.
struct RequestRules {
  std::string model = "model";  ///< the served id
  std::vector<std::string> aliases = {};
  std::size_t vocabulary = 0;   ///< token ids are below
  std::size_t context = 0;      ///< tokens
  std::size_t hidden_size = 0;  ///< numbers of an embedding
  /// How embeddings are made; none = the checkpoint's way if it has one, else not at all.
  std::optional<engine::Pooling> pooling = {};
  engine::SamplingOptions sampling = {};
  std::vector<engine::AdapterChoice> adapters = {};  ///< of requests that name none
  /// As AdapterRegistry::select(); none = no adapter is mounted.
  std::function<std::shared_ptr<const engine::AdapterSet>(std::span<const engine::AdapterChoice>)>
      select_adapters = {};
  std::size_t chat_tokens = 65536;      ///< longest chat answer when the request gives none
  std::size_t completion_tokens = 512;  ///< the same for completions
  std::size_t draft_tokens = 0;
  std::optional<std::chrono::milliseconds> timeout = {};
  std::optional<std::chrono::milliseconds> queue_timeout = {};
  UnknownFields unknown_fields = UnknownFields::kIgnored;
  UnknownModels unknown_models = UnknownModels::kServed;
  ReasoningField reasoning_field = ReasoningField::kReasoningContent;
};

}  // namespace lanner::server
