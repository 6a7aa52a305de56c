// SPDX-License-Identifier: MIT
#include "engine/workspace.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "cache/sequence_cache.h"
#include "core/planned_memory.h"
#include "device/plan_ops.h"
#include "engine/step_runner.h"

namespace lanner::engine {

std::size_t Workspace::arena_bytes(std::size_t wanted) const {
  return std::max(forward_bytes, kept_bytes + std::min(wanted, kStepLogitRows) * logit_row_bytes);
}

Workspace plan_workspace(const models::Model& model, const device::Ops& ops, const cache::CacheSpec& spec,
                         const StepShape& shape) {
  PlannedMemory memory(ops.memory->kind());
  const device::Ops plan = device::plan_ops(ops, memory);
  device::Stream stream(plan, shape.threads);
  Arena arena(memory);
  const auto live_bytes = [&] { return arena.mark().live_bytes; };
  const cache::BlockPool pool(cache::BlockPool::kUnlimited, memory);
  Workspace workspace;
  // A piece of a prompt, then a token after a long context.
  const auto run = [&](cache::SequenceCache& cache, std::size_t rows, std::size_t wanted) {
    arena.reset();
    const std::vector<TokenId> ids(rows);
    std::vector<std::int32_t> wanted_rows(wanted);
    std::iota(wanted_rows.begin(), wanted_rows.end(), static_cast<std::int32_t>(rows - wanted));
    const layers::Group group{.cache = &cache, .ids = ids, .wanted = wanted_rows};
    layers::Step step(plan, stream, arena, {&group, 1});
    const Tensor hidden = model.forward(step);
    if (rows == shape.rows) {
      workspace.forward_bytes = std::max(workspace.forward_bytes, arena.peak_bytes());
      workspace.kept_bytes = std::max(workspace.kept_bytes, live_bytes());
    }
    const std::size_t before = live_bytes();
    model.logits(step, hidden.slice(0, 1));
    workspace.logit_row_bytes = live_bytes() - before;
  };
  // Rows that are all wanted are not copied: where they may be, one fewer takes more.
  std::vector<std::size_t> wanted = {std::clamp<std::size_t>(shape.wanted, 1, shape.rows)};
  if (wanted.front() == shape.rows && shape.rows > 1) wanted.push_back(shape.rows - 1);
  for (const std::size_t some : wanted) {
    cache::SequenceCache prompt(spec, pool);
    run(prompt, shape.rows, some);
  }
  cache::SequenceCache deep(spec, pool);
  while (deep.length() + 1 < shape.context) {
    const std::size_t rows = std::min<std::size_t>(shape.context - 1 - deep.length(), 4096);
    deep.reserve(rows);
    deep.advance(rows);
  }
  run(deep, 1, 1);
  workspace.scratch_bytes = stream.scratch_bytes();
  return workspace;
}

}  // namespace lanner::engine
