// SPDX-License-Identifier: MIT
#include "server/answer.h"

#include <algorithm>
#include <numeric>

#include "server/request_ids.h"

namespace lanner::server {

namespace {

/// Likelihoods up to here belong to the content before.
void close_block(AnswerChoice& choice) {
  if (!choice.blocks.empty() && choice.blocks.back().kind == AnswerBlock::Kind::kContent)
    choice.blocks.back().logprobs_end = choice.logprobs.size();
}

AnswerBlock& begin_block(AnswerChoice& choice, AnswerBlock::Kind kind) {
  close_block(choice);
  std::size_t listed = 0;
  for (const AnswerBlock& before : choice.blocks) listed = std::max(listed, before.logprobs_end);
  choice.blocks.push_back({.kind = kind, .logprobs_begin = listed});
  return choice.blocks.back();
}

/// The last block, when it is of this kind, else a new one.
AnswerBlock& block(AnswerChoice& choice, AnswerBlock::Kind kind) {
  if (!choice.blocks.empty() && choice.blocks.back().kind == kind) return choice.blocks.back();
  return begin_block(choice, kind);
}

}  // namespace

std::size_t AnswerChoice::complete_calls() const {
  return static_cast<std::size_t>(std::ranges::count_if(calls, &AnswerCall::complete));
}

const char* AnswerChoice::finish_reason() const {
  if (end->reason == engine::FinishReason::kLength) return "length";
  return complete_calls() > 0 ? "tool_calls" : "stop";
}

void count_over_prompts(engine::Event& event, std::size_t first) {
  if (auto* token = std::get_if<engine::TokenEvent>(&event)) token->choice += first;
  if (auto* end = std::get_if<engine::ChoiceEnd>(&event)) end->choice += first;
}

Answer::Answer(AnswerFacts facts)
    : facts_(std::move(facts)),
      prompt_logprobs_(facts_.prompt_tokens.size()),
      cached_(facts_.prompt_tokens.size(), 0) {}

AnswerChoice& Answer::at(std::size_t choice) {
  if (choices_.size() <= choice) choices_.resize(choice + 1);
  return choices_[choice];
}

void Answer::add_text(AnswerChoice& choice, std::size_t index, const text::OutputEvent& event) {
  using Kind = text::OutputEvent::Kind;
  switch (event.kind) {
    case Kind::kReasoning:
      choice.reasoning += event.text;
      if (!facts_.exclude_reasoning) block(choice, AnswerBlock::Kind::kReasoning).text += event.text;
      break;
    case Kind::kContent:
      add_content(choice, event.text);
      break;
    case Kind::kToolStart:
      begin_block(choice, AnswerBlock::Kind::kCall).call = choice.calls.size();
      choice.calls.push_back(
          {seeded_id("call_", facts_.seed, index, event.call), event.text, std::string(), false});
      break;
    case Kind::kToolArguments:
      if (!choice.calls.empty()) choice.calls.back().arguments += event.text;
      break;
    case Kind::kToolEnd:
      if (!choice.calls.empty()) choice.calls.back().complete = true;
      break;
    case Kind::kToolBroken:
      // A stream has shown the call, and what was sent stays sent.
      if (facts_.delivery == Delivery::kStream) break;
      if (!choice.blocks.empty() && choice.blocks.back().kind == AnswerBlock::Kind::kCall)
        choice.blocks.pop_back();
      add_content(choice, event.text);
      break;
  }
}

void Answer::add_content(AnswerChoice& choice, const std::string& text) {
  choice.content += text;
  AnswerBlock& shown = block(choice, AnswerBlock::Kind::kContent);
  shown.text += text;
  shown.logprobs_end = choice.logprobs.size();
}

bool Answer::lists(const engine::TokenEvent& event) const {
  return event.logprob && (facts_.log_all_tokens || event.part == engine::AnswerPart::kContent);
}

void Answer::add(const engine::Event& event, std::size_t prompt) {
  if (const auto* token = std::get_if<engine::TokenEvent>(&event)) {
    AnswerChoice& choice = at(token->choice);
    choice.tokens.push_back(token->id);
    if (lists(*token)) choice.logprobs.push_back(*token->logprob);
    for (const text::OutputEvent& part : token->text) add_text(choice, token->choice, part);
  } else if (const auto* end = std::get_if<engine::ChoiceEnd>(&event)) {
    AnswerChoice& choice = at(end->choice);
    for (const text::OutputEvent& part : end->text) add_text(choice, end->choice, part);
    choice.end = *end;
    if (facts_.include_stop && end->stop_string) add_content(choice, *end->stop_string);
    close_block(choice);
  } else if (const auto* progress = std::get_if<engine::PromptProgress>(&event)) {
    cached_[prompt] = progress->cached;
  } else if (const auto* scores = std::get_if<engine::PromptLogprobs>(&event)) {
    engine::PromptLogprobs& all = prompt_logprobs_[prompt];
    if (all.entries.empty()) all.first = scores->first;
    all.entries.insert(all.entries.end(), scores->entries.begin(), scores->entries.end());
  } else if (const auto* done = std::get_if<engine::RequestEnd>(&event)) {
    cached_[prompt] = done->timings.cached_tokens;
    timings_.prompt_tokens += done->timings.prompt_tokens;
    timings_.cached_tokens += done->timings.cached_tokens;
    timings_.generated_tokens += done->timings.generated_tokens;
    timings_.queue_seconds = std::max(timings_.queue_seconds, done->timings.queue_seconds);
    timings_.prompt_seconds = std::max(timings_.prompt_seconds, done->timings.prompt_seconds);
    timings_.decode_seconds = std::max(timings_.decode_seconds, done->timings.decode_seconds);
  }
}

std::size_t Answer::prompt_tokens() const {
  return std::accumulate(facts_.prompt_tokens.begin(), facts_.prompt_tokens.end(), std::size_t{0});
}

std::size_t Answer::cached_tokens() const {
  return std::accumulate(cached_.begin(), cached_.end(), std::size_t{0});
}

engine::ChoiceUsage Answer::usage() const {
  engine::ChoiceUsage sum;
  for (const AnswerChoice& choice : choices_) {
    if (!choice.end) continue;
    sum.generated_tokens += choice.end->usage.generated_tokens;
    sum.reasoning_tokens += choice.end->usage.reasoning_tokens;
    sum.drafted_tokens += choice.end->usage.drafted_tokens;
    sum.accepted_tokens += choice.end->usage.accepted_tokens;
    sum.preemptions += choice.end->usage.preemptions;
  }
  return sum;
}

std::optional<std::string> Answer::stop_text(std::size_t choice) const {
  return choices_.at(choice).end ? choices_[choice].end->stop_string : std::nullopt;
}

std::optional<TokenId> Answer::stop_id(std::size_t choice) const {
  const auto& end = choices_.at(choice).end;
  if (!end || !end->stop_id) return std::nullopt;
  return std::ranges::find(facts_.stop_ids, *end->stop_id) != facts_.stop_ids.end() ? end->stop_id
                                                                                    : std::nullopt;
}

}  // namespace lanner::server
