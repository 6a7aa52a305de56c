// SPDX-License-Identifier: MIT
#include "engine/prefix_reuse.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "engine/prefix_key.h"
#include "io/message_text.h"

namespace lanner::engine {

using cache::CheckpointClass;

PrefixReuse::PrefixReuse(const LoadedModel& model, const EngineOptions& options, std::size_t capacity_bytes)
    : model_(model),
      key_(prefix_key(model)),
      interval_(options.checkpoint_interval),
      store_(capacity_bytes) {}

cache::PrefixKey PrefixReuse::key_of(const AdapterSet* adapters) const {
  cache::PrefixKey key = key_;
  if (adapters != nullptr) key.adapters = adapters->key;
  return key;
}

std::optional<cache::SequenceCache> PrefixReuse::find(Sequence& sequence) {
  const Request& request = sequence.request();
  // Likelihoods of prompt tokens need their rows, and so does a mean over all of them.
  const bool scores = request.prompt_logprobs && sequence.choice() == 0 &&
                      sequence.prompt_logprobs_sent + 1 < sequence.prompt_size();
  const bool pools_all = request.pooling == Pooling::kMean;
  if (!request.prefix.read || scores || pools_all || store_.capacity_bytes() == 0) return std::nullopt;
  cache::PrefixLookup found =
      store_.find(key_of(request.adapters.get()), sequence.tokens(), sequence.tokens().size() - 1);
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

StateImage PrefixReuse::image(const Sequence& sequence) const {
  return state_image(key_of(sequence.request().adapters.get()),
                     {.ids = sequence.tokens().first(sequence.computed()),
                      .sequence = *sequence.cache,
                      .memory = *model_.ops().memory});
}

std::size_t PrefixReuse::restore(std::span<const std::byte> file, std::string_view source,
                                 const cache::BlockPool& pool, const AdapterSet* adapters) {
  const auto too_large = [&] {
    return Error(ErrorKind::kOutOfMemory,
                 fmt::format("{}: the state takes {}, the memory for known prompts is {}", source,
                             io::readable_size(file.size()), io::readable_size(store_.capacity_bytes())));
  };
  if (file.size() > store_.capacity_bytes()) throw too_large();
  const cache::PrefixKey key = key_of(adapters);
  const SavedState state = parse_state(file, source, key, model_.cache_spec(), pool);
  if (state.ids.empty()) return 0;
  store_.insert(key, state.ids, state.cache, CheckpointClass::kSystem);
  if (store_.find(key, state.ids, state.ids.size()).length < state.ids.size()) throw too_large();
  return state.ids.size();
}

std::size_t PrefixReuse::save(const std::filesystem::path& file, std::span<const TokenId> ids,
                              const AdapterSet* adapters) {
  const cache::PrefixKey key = key_of(adapters);
  const std::optional<cache::SequenceCache> found = store_.find(key, ids, ids.size()).cache;
  if (!found) return 0;
  save_state(file, key,
             {.ids = ids.first(found->length()), .sequence = *found, .memory = *model_.ops().memory});
  return found->length();
}

void PrefixReuse::forget_adapter(const std::string& content_hash) {
  store_.forget_where(
      [&](const cache::PrefixKey& key) { return key.adapters.find(content_hash) != std::string::npos; });
}

void PrefixReuse::insert(const Sequence& sequence, CheckpointClass kind) {
  const AdapterSet* adapters = sequence.request().adapters.get();
  if (adapters != nullptr && !adapters->is_mounted()) return;
  store_.insert(key_of(adapters), sequence.tokens().first(sequence.computed()), *sequence.cache, kind);
}

}  // namespace lanner::engine
