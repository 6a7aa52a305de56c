// SPDX-License-Identifier: MIT
#include "engine/loaded_model.h"

#include "engine/device_fit.h"
#include "engine/kv_config.h"
#include "models/model_registry.h"

namespace lanner::engine {
namespace {

std::unique_ptr<models::Model> load_model(const io::Checkpoint& checkpoint, const device::Ops& ops,
                                          const LoadOptions& options, const models::LoadProgress& progress) {
  if (const auto memory = device::device_memory(ops))
    require_device_memory(plan_device_need(checkpoint, ops, options), ops.device, memory->free_bytes);
  ThreadPool pool(options.threads);
  return models::load_model(checkpoint,
                            {.ops = ops, .compute = options.compute, .pool = pool, .progress = progress});
}

device::Ops open_device(const LoadOptions& options) {
  if (options.open_device) return options.open_device();
  return options.cuda ? device::cuda_ops(*options.cuda) : device::cpu_ops(options.isa, options.compute);
}

}  // namespace

cache::CacheSpec cache_spec(const io::Checkpoint& checkpoint, const models::Model& model,
                            std::optional<device::KvType> kv_type) {
  cache::CacheSpec spec{.layers = model.cache_layers()};
  if (kv_type)
    spec.kv_type = *kv_type;
  else
    spec.layer_kv_types = read_kv_config(checkpoint, spec.layers);
  return spec;
}

// A vocabulary of 248320 takes a core for 0.2 s, which need not come after the weights.
LoadedModel::LoadedModel(const std::filesystem::path& folder, const LoadOptions& options,
                         const models::LoadProgress& progress)
    : LoadedModel(folder, options, progress,
                  std::async(std::launch::async, [&folder] { return TextParts(folder); })) {}

LoadedModel::LoadedModel(const std::filesystem::path& folder, const LoadOptions& options,
                         const models::LoadProgress& progress, std::future<TextParts> text)
    : checkpoint_(folder),
      options_(options),
      ops_(open_device(options)),
      model_(load_model(checkpoint_, ops_, options, progress)),
      cache_spec_(lanner::engine::cache_spec(checkpoint_, *model_, options.kv_type)),
      text_(text.get()),
      defaults_(read_generation_defaults(checkpoint_, text_.tokenizer())) {}

}  // namespace lanner::engine
