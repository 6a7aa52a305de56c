// SPDX-License-Identifier: MIT
#include "engine/device_fit.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/planned_memory.h"
#include "device/plan_ops.h"
#include "engine/memory_plan.h"
#include "models/model_registry.h"

namespace lanner::engine {

DeviceNeed plan_device_need(const io::Checkpoint& checkpoint, const device::Ops& ops,
                            const LoadOptions& options) {
  constexpr std::size_t kRows = 64;
  PlannedMemory memory(ops.memory->kind());
  const device::Ops plan = device::plan_ops(ops, memory);
  ThreadPool pool(1);
  const auto model = models::load_model(
      checkpoint, {.ops = plan, .compute = options.compute, .pool = pool, .use = models::WeightUse::kPlan});
  const MemoryPlan steps(*model, plan, cache_spec(checkpoint, *model, options.kv_type),
                         {.rows = kRows, .context = kRows});
  return {.load_bytes = memory.peak_bytes(),
          .step_bytes = steps.step_bytes(1) + steps.sequence().bytes({.tokens = kRows})};
}

void require_device_memory(const DeviceNeed& need, std::string_view device, std::size_t free_bytes) {
  if (need.total() <= free_bytes) return;
  throw Error(
      ErrorKind::kOutOfMemory,
      fmt::format("the model needs {} bytes of {} ({} for its weights, {} for a short text), and {} are "
                  "free; free some, use a smaller model, or --device cpu",
                  need.total(), device, need.load_bytes, need.step_bytes, free_bytes));
}

}  // namespace lanner::engine
