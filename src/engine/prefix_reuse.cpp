// SPDX-License-Identifier: MIT
#include "engine/prefix_reuse.h"

#include <algorithm>

#include "engine/prefix_key.h"

namespace lanner::engine {

using cache::CheckpointClass;

PrefixReuse::PrefixReuse(const LoadedModel& model, const EngineOptions& options, std::size_t capacity_bytes)
    : key_(prefix_key(model)), interval_(options.checkpoint_interval), store_(capacity_bytes) {}

std::optional<cache::SequenceCache> PrefixReuse::find(Sequence& sequence) {
  const Request& request = sequence.request();
  // Likelihoods of prompt tokens need their rows.
  const bool scores = request.prompt_logprobs && sequence.choice() == 0 &&
                      sequence.prompt_logprobs_sent + 1 < sequence.prompt_size();
  if (!request.prefix.read || scores || store_.capacity_bytes() == 0) return std::nullopt;
  cache::PrefixLookup found = store_.find(key_, sequence.tokens(), sequence.tokens().size() - 1);
  sequence.branch_point = found.branch_point;
  return std::move(found.cache);
}

std::optional<CheckpointClass> PrefixReuse::due(const Sequence& sequence, std::size_t length) const {
  if (!sequence.request().prefix.write || length == 0 || length > sequence.prompt_size()) return std::nullopt;
  for (const PrefixCheckpoint& checkpoint : sequence.request().checkpoints)
    if (checkpoint.tokens == length) return checkpoint.kind;
  if (sequence.branch_point == length) return CheckpointClass::kBranch;
  // Choices that could not start at once find their prompt here.
  if (length == sequence.prompt_size() && sequence.request().choices > 1) return CheckpointClass::kBranch;
  if (length % interval_ == 0) return CheckpointClass::kInterval;
  return std::nullopt;
}

std::size_t PrefixReuse::next_checkpoint(const Sequence& sequence, std::size_t begin) const {
  std::size_t next = (begin / interval_ + 1) * interval_;
  const auto consider = [&](std::size_t tokens) {
    if (tokens > begin) next = std::min(next, tokens);
  };
  for (const PrefixCheckpoint& checkpoint : sequence.request().checkpoints) consider(checkpoint.tokens);
  if (sequence.branch_point) consider(*sequence.branch_point);
  return next;
}

void PrefixReuse::after_step(const Sequence& sequence) {
  if (const auto kind = due(sequence, sequence.computed())) insert(sequence, *kind);
}

void PrefixReuse::at_end(const Sequence& sequence) {
  if (sequence.request().prefix.write && sequence.computed() > 0) insert(sequence, CheckpointClass::kEnd);
}

void PrefixReuse::insert(const Sequence& sequence, CheckpointClass kind) {
  store_.insert(key_, sequence.tokens().first(sequence.computed()), *sequence.cache, kind);
}

}  // namespace lanner::engine
