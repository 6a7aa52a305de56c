// SPDX-License-Identifier: MIT
#include "engine/agreement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "core/arena.h"
#include "core/error.h"
#include "engine/logit_rows.h"
#include "engine/sampler.h"
#include "layers/step.h"

namespace lanner::engine {
namespace {

double log_normalizer(std::span<const float> logits) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float z : logits) sum += std::exp(double(z) - top);
  return top + std::log(sum);
}

double divergence(std::span<const float> reference, std::span<const float> other) {
  const double reference_norm = log_normalizer(reference);
  const double other_norm = log_normalizer(other);
  double sum = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double log_p = double(reference[i]) - reference_norm;
    sum += std::exp(log_p) * (log_p - (double(other[i]) - other_norm));
  }
  return std::max(0.0, sum);
}

/// One chunk of one model: the final hidden states, from which logits are formed piece by piece.
class ChunkRun {
 public:
  ChunkRun(const LoadedModel& model, device::Stream& stream, std::span<const TokenId> ids)
      : model_(model),
        stream_(stream),
        arena_(*model.ops().memory),
        cache_(model.cache_spec(), cache::BlockPool(cache::BlockPool::kUnlimited, *model.ops().memory)),
        wanted_(ids.size()) {
    std::iota(wanted_.begin(), wanted_.end(), 0);
    group_ = {.cache = &cache_, .ids = ids, .wanted = wanted_};
    step_.emplace(model.ops(), stream, arena_, std::span(&group_, 1));
    hidden_ = model.model().forward(*step_);
  }

  /// [end - begin, V], on the host.
  std::vector<float> logits(std::size_t begin, std::size_t end) {
    const ArenaScope scope(arena_);
    const Tensor rows = model_.model().logits(
        *step_, hidden_.slice(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)));
    const std::span<const float> values = model_.ops().host_floats(stream_, rows);
    return {values.begin(), values.end()};
  }

 private:
  const LoadedModel& model_;
  device::Stream& stream_;
  Arena arena_;
  cache::SequenceCache cache_;
  std::vector<std::int32_t> wanted_;
  layers::Group group_;
  std::optional<layers::Step> step_;
  Tensor hidden_;
};

}  // namespace

Agreement measure_agreement(const LoadedModel& reference, const LoadedModel& other, device::Stream& stream,
                            std::span<const TokenId> ids, std::size_t chunk,
                            const std::function<void(std::size_t done)>& progress) {
  if (ids.empty()) throw Error(ErrorKind::kInvalidArgument, "the text has no tokens to predict from");
  Agreement result;
  for (std::size_t begin = 0; begin < ids.size(); begin += chunk) {
    const std::size_t count = std::min(chunk, ids.size() - begin);
    ChunkRun expected(reference, stream, ids.subspan(begin, count));
    ChunkRun actual(other, stream, ids.subspan(begin, count));
    for (std::size_t row = 0; row < count; row += kLogitRows) {
      const std::size_t end = std::min(count, row + kLogitRows);
      const std::vector<float> all_p = expected.logits(row, end);
      const std::vector<float> all_q = actual.logits(row, end);
      const std::size_t vocabulary = all_p.size() / (end - row);
      for (std::size_t i = 0; i < end - row; ++i) {
        const std::span p = std::span(all_p).subspan(i * vocabulary, vocabulary);
        const std::span q = std::span(all_q).subspan(i * vocabulary, vocabulary);
        const double nats = divergence(p, q);
        result.total_divergence += nats;
        result.largest_divergence = std::max(result.largest_divergence, nats);
        result.same_top += argmax(p) == argmax(q) ? 1 : 0;
        ++result.predictions;
      }
    }
    if (progress) progress(begin + count);
  }
  return result;
}

}  // namespace lanner::engine
