// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>

#include "cache/layer_spec.h"
#include "core/cpu_features.h"
#include "device/cuda.h"
#include "device/ops.h"
#include "engine/generation_defaults.h"
#include "engine/text_parts.h"
#include "io/checkpoint.h"
#include "models/load_target.h"
#include "models/model.h"

namespace lanner::engine {

/// How a checkpoint is loaded.
struct LoadOptions {
  Isa isa = Isa::kReference;
  std::optional<int> cuda = {};  ///< index of the GPU to run on; none = the CPU
  device::Compute compute = device::Compute::kExact;
  int threads = 1;  ///< that interleave weights
  /// How every layer stores keys and values; none = as kv_config.json says, bfloat16 where it says nothing.
  std::optional<device::KvType> kv_type = {};
  /// Opens the operations instead of `isa` and `cuda`; called again when the device is lost.
  std::function<device::Ops()> open_device = {};
};

/// A checkpoint folder ready to run: weights mapped, kernels bound, text parts read. Immutable.
class LoadedModel {
 public:
  /// Throws Error for anything wrong with the folder.
  LoadedModel(const std::filesystem::path& folder, const LoadOptions& options,
              const models::LoadProgress& progress = {});

  const io::Checkpoint& checkpoint() const { return checkpoint_; }
  /// How it was loaded.
  const LoadOptions& options() const { return options_; }
  const device::Ops& ops() const { return ops_; }
  /// Of the GPU it runs on. May be called from any thread.
  std::optional<device::DeviceMemory> device_memory() const { return device::device_memory(ops_); }
  const models::Model& model() const { return *model_; }
  /// What a sequence of this model keeps.
  const cache::CacheSpec& cache_spec() const { return cache_spec_; }
  const TextParts& text() const { return text_; }
  const text::Tokenizer& tokenizer() const { return text_.tokenizer(); }
  const GenerationDefaults& defaults() const { return defaults_; }
  /// As TextParts::encode_plain().
  std::vector<TokenId> encode_plain(std::string_view text) const { return text_.encode_plain(text); }

 private:
  LoadedModel(const std::filesystem::path& folder, const LoadOptions& options,
              const models::LoadProgress& progress, std::future<TextParts> text);

  io::Checkpoint checkpoint_;
  LoadOptions options_;
  device::Ops ops_;
  std::unique_ptr<models::Model> model_;
  cache::CacheSpec cache_spec_;
  TextParts text_;
  GenerationDefaults defaults_;
};

/// How the layers of a model store keys and values: all as `kv_type`; without one as kv_config.json says,
/// bfloat16 where it says nothing. Throws as read_kv_config().
cache::CacheSpec cache_spec(const io::Checkpoint& checkpoint, const models::Model& model,
                            std::optional<device::KvType> kv_type);

}  // namespace lanner::engine
