// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/sequence_cache.h"
#include "core/arena.h"
#include "device/ops.h"
#include "io/checkpoint.h"
#include "io/safetensors_file.h"
#include "layers/step.h"
#include "models/model.h"

namespace lanner::test {

/// Folders of tiny random checkpoints with oracle activations: those in tests/golden/models, and, where the
/// whole collection is at hand (LANNER_FIXTURES or ../shared/fixtures), every text model of it.
std::vector<std::filesystem::path> model_fixtures();

/// What the program that runs these tests tests: every instruction set of this CPU, or a GPU.
std::vector<device::Ops> tested_ops();

/// A model on one instruction set with what a forward needs.
class Runner {
 public:
  Runner(const std::filesystem::path& folder, Isa isa, int threads,
         device::Compute compute = device::Compute::kExact);

  /// On the operations of any device.
  Runner(const std::filesystem::path& folder, const device::Ops& ops, int threads,
         device::Compute compute = device::Compute::kExact);

  /// Values that lie where this runner's operations work.
  std::vector<float> on_host(const Tensor& x);
  std::vector<float> on_host(const float* data, std::size_t count);

  const models::Model& model() const { return *model_; }
  const device::Ops& ops() const { return ops_; }
  device::Stream& stream() { return stream_; }
  cache::SequenceCache new_cache(device::KvType type = device::KvType::kF32) const;
  /// Feeds ids to the cache and returns the logits of every one of them, [ids, V].
  std::vector<float> logits(cache::SequenceCache& cache, std::span<const TokenId> ids,
                            layers::Phase phase = layers::Phase::kPrompt, const layers::Tap& tap = {});
  /// Feeds several sequences in one step, each with its adapters if there are any; logits of every row of
  /// each.
  std::vector<std::vector<float>> logits(std::span<cache::SequenceCache*> caches,
                                         std::span<const std::vector<TokenId>> ids,
                                         std::span<const layers::LoraSet* const> adapters = {});
  /// Feeds ids and returns the logits of the last only, as a prompt does.
  std::vector<float> last_logits(cache::SequenceCache& cache, std::span<const TokenId> ids);
  /// Logits of the last 12 ids, given one by one after the rest came in pieces, with this storage of keys and
  /// values.
  std::vector<float> tail_logits(device::KvType type, std::span<const TokenId> ids, std::size_t piece);
  /// From now on single sequences are computed with these adapters, which the caller keeps; nullptr = none.
  void use(const layers::LoraSet* adapters) { adapters_ = adapters; }

 private:
  io::Checkpoint checkpoint_;
  device::Ops ops_;
  device::Stream stream_;
  Arena arena_;
  std::unique_ptr<models::Model> model_;
  const layers::LoraSet* adapters_ = nullptr;
};

/// The values of an oracle tensor.
std::vector<float> oracle_floats(const io::SafetensorsFile& oracle, std::string_view name);
std::vector<TokenId> oracle_ids(const io::SafetensorsFile& oracle, std::string_view name);

/// sqrt(sum (got-want)²) / sqrt(sum want²); infinite when lengths differ.
double rms_relative(std::span<const float> got, std::span<const float> want);
double max_absolute(std::span<const float> got, std::span<const float> want);

}  // namespace lanner::test
