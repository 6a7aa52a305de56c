// SPDX-License-Identifier: MIT
#include "engine/perplexity.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/arena.h"
#include "core/error.h"
#include "engine/logit_rows.h"
#include "engine/sampler.h"
#include "layers/step.h"

namespace lanner::engine {
namespace {

double negative_log_likelihood(std::span<const float> logits, TokenId token) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (float z : logits) sum += std::exp(double(z) - top);
  return top + std::log(sum) - double(logits[static_cast<std::size_t>(token)]);
}

double score_chunk(const LoadedModel& model, device::Stream& stream, Arena& arena,
                   std::span<const TokenId> ids, const layers::LoraSet* adapters) {
  arena.reset();
  cache::SequenceCache cache(model.cache_spec(),
                             cache::BlockPool(cache::BlockPool::kUnlimited, *model.ops().memory));
  std::vector<std::int32_t> wanted(ids.size() - 1);
  std::iota(wanted.begin(), wanted.end(), 0);
  const layers::Group group{.cache = &cache, .ids = ids, .wanted = wanted, .adapters = adapters};
  layers::Step step(model.ops(), stream, arena, {&group, 1});
  const Tensor hidden = model.model().forward(step);
  double total = 0;
  for (std::size_t begin = 0; begin < wanted.size(); begin += kLogitRows) {
    const ArenaScope scope(arena);
    const std::size_t end = std::min(wanted.size(), begin + kLogitRows);
    const Tensor logits = model.model().logits(
        step, hidden.slice(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)));
    const std::span<const float> all = model.ops().host_floats(stream, logits);
    require_finite(all);
    for (std::size_t row = begin; row < end; ++row)
      total += negative_log_likelihood(all.subspan((row - begin) * logits.columns(), logits.columns()),
                                       ids[row + 1]);
  }
  return total;
}

}  // namespace

double Perplexity::value() const { return std::exp(nll_per_token()); }

Perplexity measure_perplexity(const LoadedModel& model, device::Stream& stream, const PerplexityTask& task) {
  const std::span<const TokenId> ids = task.ids;
  const std::vector<TokenId> start = model.encode_plain("");
  const std::size_t width = std::min(task.chunk, model.model().facts().context);
  if (width < start.size() + 1)
    throw Error(ErrorKind::kInvalidArgument, "the chunk is too short to score a token in; give at least two");
  const std::size_t length = width - start.size();
  Perplexity result;
  Arena arena(*model.ops().memory);
  for (std::size_t begin = 0; begin < ids.size(); begin += length) {
    const std::size_t end = std::min(ids.size(), begin + length);
    std::vector<TokenId> piece = start;
    piece.insert(piece.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                 ids.begin() + static_cast<std::ptrdiff_t>(end));
    if (piece.size() > 1) {
      result.total_nll += score_chunk(model, stream, arena, piece, task.adapters);
      result.scored_tokens += piece.size() - 1;
    }
    if (task.progress) task.progress(end);
  }
  if (result.scored_tokens == 0)
    throw Error(ErrorKind::kInvalidArgument, "the text has too few tokens to score; give at least two");
  return result;
}

}  // namespace lanner::engine
