// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/token.h"
#include "device/stream.h"
#include "models/model.h"

namespace lanner::engine {

/// Which hidden states go into the file beside the logits.
enum class HiddenStates : std::uint8_t { kNone, kAll };

struct LogitsDumpRequest {
  std::vector<TokenId> ids;
  std::size_t chunk = 512;  ///< rows of one forward, > 0; the values do not depend on it
  HiddenStates hidden = HiddenStates::kNone;
  const layers::LoraSet* adapters = nullptr;  ///< that the model is computed with; none = the model itself
  /// Told after each piece: rows done of rows in all. May be empty.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

/// Runs ids through a model from an empty cache and writes a safetensors file of F32 tensors: `logits`
/// [ids, V], and with kAll `hidden.0` [ids, H] (the scaled embedding), `hidden.1` ... (after each layer) and
/// `final_norm`. Memory does not grow with the file. Throws Error kInvalidArgument when there are no ids, too
/// many for the context, or one is outside the vocabulary; kIo when the file cannot be written.
void dump_logits(const models::Model& model, const device::Ops& ops, device::Stream& stream,
                 const LogitsDumpRequest& request, const std::filesystem::path& file);

}  // namespace lanner::engine
