// SPDX-License-Identifier: MIT
#include "engine/step_runner.h"

#include <algorithm>
#include <vector>

#include "engine/token_logprobs.h"

namespace lanner::engine {
namespace {

/// Rows whose tokens are the sequence's own.
std::size_t matching_rows(const StepWork& work) {
  const auto tokens = work.sequence->tokens();
  std::size_t rows = 0;
  while (rows < work.rows() && work.begin + rows < tokens.size() &&
         tokens[work.begin + rows] == work.ids[rows])
    ++rows;
  return rows;
}

/// Takes what the logits of row `row` are good for: the likelihood of a prompt token, or the next token.
void use_logits(StepWork& work, std::size_t row, std::span<float> logits) {
  Sequence& sequence = *work.sequence;
  const std::size_t next = work.begin + row + 1;
  if (next < sequence.prompt_size()) {
    work.prompt_logprobs.push_back(
        logprob_entry(logits, sequence.tokens()[next], *sequence.request().prompt_logprobs));
    return;
  }
  if (sequence.finished() || next != sequence.tokens().size() || matching_rows(work) <= row) return;
  for (const auto& follower : sequence.followers) {
    std::vector<float> copy(logits.begin(), logits.end());
    follower->decide(copy);
  }
  sequence.decide(logits);
}

}  // namespace

StepRunner::StepRunner(const LoadedModel& model, int threads, std::size_t workspace_bytes)
    : model_(model), stream_(model.ops(), threads), arena_(*model.ops().memory) {
  arena_.reserve(workspace_bytes);
}

void StepRunner::run(std::span<StepWork> works) {
  arena_.reset();
  std::vector<layers::Group> groups;
  std::vector<LogitRow> rows;
  for (StepWork& work : works) {
    groups.push_back(
        {.cache = &*work.sequence->cache, .phase = work.phase, .ids = work.ids, .wanted = work.wanted});
    for (std::int32_t row : work.wanted) rows.push_back({&work, row});
  }
  layers::Step step(model_.ops(), stream_, arena_, groups);
  const Tensor hidden = model_.model().forward(step);
  const auto is_pooled = [&](std::size_t row) { return rows[row].work->sequence->pooled.has_value(); };
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    const ArenaScope scope(arena_);
    for (end = begin;
         end < rows.size() && end - begin < kStepLogitRows && is_pooled(end) == is_pooled(begin);)
      ++end;
    const Tensor part = hidden.slice(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
    const std::span<const LogitRow> of_part = std::span(rows).subspan(begin, end - begin);
    if (is_pooled(begin))
      pool(of_part, part);
    else
      decide(of_part, model_.model().logits(step, part));
  }
  for (StepWork& work : works) {
    if (!work.draft) continue;
    const std::size_t kept = matching_rows(work);
    work.draft->commit(kept);
    const std::size_t decided = work.rows() - work.guesses;
    work.sequence->learn(work.guesses, kept > decided ? kept - decided : 0);
  }
}

void StepRunner::pool(std::span<const LogitRow> rows, const Tensor& hidden) {
  const std::span<const float> all = model_.ops().host_floats(stream_, hidden);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [work, row] = rows[i];
    work->sequence->pooled->add(work->begin + static_cast<std::size_t>(row),
                                all.subspan(i * hidden.columns(), hidden.columns()));
  }
}

void StepRunner::decide(std::span<const LogitRow> rows, const Tensor& logits) {
  const std::span<float> all = model_.ops().host_floats(stream_, logits);
  // Rows of one sequence follow each other and must be taken in order; sequences are independent.
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i == 0 || rows[i].work != rows[i - 1].work) first.push_back(i);
  stream_.pool().each(first.size(), [&](std::size_t index, int) {
    StepWork& work = *rows[first[index]].work;
    try {
      for (std::size_t i = first[index]; i < rows.size() && rows[i].work == &work; ++i)
        use_logits(work, static_cast<std::size_t>(rows[i].row),
                   all.subspan(i * logits.columns(), logits.columns()));
    } catch (const Error& error) {
      work.error = error;
    } catch (const std::exception& error) {
      work.error = Error(ErrorKind::kInternal, error.what());
    }
  });
}

}  // namespace lanner::engine
