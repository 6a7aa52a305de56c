// SPDX-License-Identifier: MIT
#include "engine/device_choices.h"

#include "engine/sampler.h"
#include "engine/token_logprobs.h"

namespace lanner::engine {

std::size_t matching_rows(const StepWork& work) {
  const auto tokens = work.sequence->tokens();
  std::size_t rows = 0;
  while (rows < work.rows() && work.begin + rows < tokens.size() &&
         tokens[work.begin + rows] == work.ids[rows])
    ++rows;
  return rows;
}

bool decides(const StepWork& work, std::size_t row) {
  const Sequence& sequence = *work.sequence;
  return !sequence.finished() && next_of(work, row) == sequence.tokens().size() && matching_rows(work) > row;
}

std::optional<std::vector<DeviceChoice>> device_choices(const StepWork& work,
                                                        std::span<const std::int32_t> rows,
                                                        std::size_t first_logits, std::size_t columns,
                                                        Sequence::Deadline until) {
  std::vector<DeviceChoice> choices;
  Sequence& sequence = *work.sequence;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    const std::size_t next = next_of(work, row);
    const std::size_t decided = sequence.tokens().size();
    if (next < sequence.prompt_size()) {
      choices.push_back({row,
                         nullptr,
                         {.row = first_logits + i,
                          .vocabulary = columns,
                          .given = sequence.tokens()[next],
                          .top_logprobs = sequence.request().prompt_logprobs}});
      continue;
    }
    if (sequence.finished() || next < decided) continue;
    const auto ahead = std::span(work.ids).subspan(decided - work.begin, next - decided);
    if (!ahead.empty() && !sequence.followers.empty()) return std::nullopt;
    const auto ask = [&](Sequence& asked) {
      std::optional<device::SampleJob> job = asked.ask_device(columns, ahead, until);
      if (!job) return false;
      job->row = first_logits + i;
      choices.push_back({row, &asked, std::move(*job)});
      return true;
    };
    for (const auto& follower : sequence.followers)
      if (!ask(*follower)) return std::nullopt;
    if (!ask(sequence)) return std::nullopt;
  }
  return choices;
}

void use_choice(StepWork& work, const DeviceChoice& choice, const device::SampleResult& result,
                Sequence::Deadline until) {
  if (choice.sequence == nullptr) {
    if (result.not_a_number) throw NotFinite();
    work.prompt_logprobs.push_back(logprob_entry(result));
  } else if (decides(work, choice.row)) {
    choice.sequence->decide(result, until);
  }
}

}  // namespace lanner::engine
