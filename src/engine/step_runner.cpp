// SPDX-License-Identifier: MIT
#include "engine/step_runner.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/device_choices.h"
#include "engine/sampler.h"
#include "engine/sequence_fault.h"
#include "engine/token_logprobs.h"

namespace lanner::engine {
namespace {

/// Takes what the logits of row `row` are good for: the likelihood of a prompt token, or the next token.
void use_logits(StepWork& work, std::size_t row, std::span<float> logits, Isa isa, Sequence::Deadline until) {
  Sequence& sequence = *work.sequence;
  const std::size_t next = next_of(work, row);
  if (next < sequence.prompt_size()) {
    require_finite(logits);
    work.prompt_logprobs.push_back(logprob_entry(LogitBlocks(logits, isa), sequence.tokens()[next],
                                                 *sequence.request().prompt_logprobs));
    return;
  }
  if (!decides(work, row)) return;
  for (const auto& follower : sequence.followers) {
    std::vector<float> copy(logits.begin(), logits.end());
    follower->decide(copy, until);
  }
  sequence.decide(logits, until);
}

/// Notes what goes wrong with one sequence alone.
template <typename Use>
void guarded(StepWork& work, Use&& use) {
  if (auto fault = fault_of(*work.sequence, std::forward<Use>(use))) work.failure = std::move(fault);
}

/// Those with the same adapters follow each other, so that these are added to all their rows at once.
std::vector<StepWork*> by_adapters(std::span<StepWork> works) {
  std::vector<StepWork*> ordered;
  for (StepWork& work : works) ordered.push_back(&work);
  std::ranges::stable_sort(ordered, std::less<>(),
                           [](const StepWork* work) { return work->sequence->request().adapters.get(); });
  return ordered;
}

}  // namespace

StepRunner::StepRunner(const LoadedModel& model, const Options& options)
    : model_(model),
      chooses_on_device_(options.choose_on_device && model.ops().sample != nullptr),
      mask_deadline_(options.mask_deadline),
      stream_(model.ops(), options.threads),
      arena_(*model.ops().memory) {
  arena_.reserve(options.workspace_bytes);
}

void StepRunner::run(std::span<StepWork> works) {
  arena_.reset();
  std::vector<layers::Group> groups;
  std::vector<LogitRow> rows;
  for (StepWork* work : by_adapters(works)) {
    const AdapterSet* adapters = work->sequence->request().adapters.get();
    groups.push_back({.cache = &*work->sequence->cache,
                      .phase = work->phase,
                      .ids = work->ids,
                      .wanted = work->wanted,
                      .adapters = adapters != nullptr ? &adapters->lora : nullptr});
    for (std::int32_t row : work->wanted) rows.push_back({work, row});
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
    StepWork& work = *rows[i].work;
    const std::size_t position = work.begin + static_cast<std::size_t>(rows[i].row);
    const std::span<const float> values = all.subspan(i * hidden.columns(), hidden.columns());
    guarded(work, [&] {
      require_finite(values);
      work.sequence->pooled->add(position, values);
    });
  }
}

void StepRunner::decide(std::span<const LogitRow> rows, const Tensor& logits) {
  // Rows of one sequence follow each other and must be taken in order; sequences are independent.
  std::vector<RowsOfOne> parts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (parts.empty() || parts.back().work != rows[i].work) parts.push_back({rows[i].work, i, {}});
    parts.back().rows.push_back(rows[i].row);
  }
  const Sequence::Deadline until = Ticket::Clock::now() + mask_deadline_;
  if (chooses_on_device_) choose_on_device(parts, logits, until);
  if (parts.empty()) return;
  const std::size_t begin = parts.front().first;
  const std::size_t end = parts.back().first + parts.back().rows.size();
  const std::span<float> all = model_.ops().host_floats(
      stream_, logits.slice(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)));
  stream_.pool().each(parts.size(), [&](std::size_t index, int) {
    const RowsOfOne& part = parts[index];
    guarded(*part.work, [&] {
      for (std::size_t i = 0; i < part.rows.size(); ++i)
        use_logits(*part.work, static_cast<std::size_t>(part.rows[i]),
                   all.subspan((part.first - begin + i) * logits.columns(), logits.columns()),
                   model_.ops().isa, until);
    });
  });
}

void StepRunner::choose_on_device(std::vector<RowsOfOne>& parts, const Tensor& logits,
                                  Sequence::Deadline until) {
  std::vector<std::optional<std::vector<DeviceChoice>>> choices(parts.size());
  stream_.pool().each(parts.size(), [&](std::size_t index, int) {
    const RowsOfOne& part = parts[index];
    guarded(*part.work, [&] {
      choices[index] = device_choices(*part.work, part.rows, part.first, logits.columns(), until);
    });
  });
  std::vector<device::SampleJob> jobs;
  std::vector<std::size_t> first_job;
  for (const auto& of_part : choices) {
    first_job.push_back(jobs.size());
    if (!of_part) continue;
    for (const DeviceChoice& choice : *of_part) jobs.push_back(choice.job);
  }
  std::vector<device::SampleResult> results(jobs.size());
  for (std::size_t begin = 0; begin < jobs.size(); begin += kStepLogitRows) {
    const std::size_t count = std::min(kStepLogitRows, jobs.size() - begin);
    model_.ops().sample(stream_, std::span(results).subspan(begin, count), logits,
                        std::span(jobs).subspan(begin, count));
  }
  stream_.pool().each(parts.size(), [&](std::size_t index, int) {
    if (!choices[index]) return;
    guarded(*parts[index].work, [&] {
      for (std::size_t i = 0; i < choices[index]->size(); ++i)
        use_choice(*parts[index].work, (*choices[index])[i], results[first_job[index] + i], until);
    });
  });
  // What is left needs the logits themselves.
  std::vector<RowsOfOne> rest;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!choices[i] && !parts[i].work->failure) rest.push_back(std::move(parts[i]));
  parts = std::move(rest);
}

}  // namespace lanner::engine
