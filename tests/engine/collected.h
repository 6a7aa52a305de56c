// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/engine.h"

namespace lanner::test {

/// What one choice of a request came to.
struct CollectedChoice {
  std::vector<TokenId> tokens;
  std::vector<text::OutputEvent> text;
  std::vector<engine::LogprobEntry> logprobs;
  std::optional<engine::ChoiceEnd> end;

  std::string content() const { return text::collect_output(text).content; }
};

/// What a request came to.
struct Collected {
  std::vector<CollectedChoice> choices;
  std::vector<engine::LogprobEntry> prompt_logprobs;
  std::optional<engine::Timings> timings;
  std::optional<engine::Failure> failure;
  std::size_t progress_events = 0;

  const std::vector<TokenId>& tokens() const { return choices.at(0).tokens; }
  const engine::ChoiceEnd& end() const { return choices.at(0).end.value(); }
};

/// Takes in one event.
inline void collect(Collected& all, engine::Event event) {
  const auto choice = [&](std::size_t index) -> CollectedChoice& {
    if (all.choices.size() <= index) all.choices.resize(index + 1);
    return all.choices[index];
  };
  if (auto* token = std::get_if<engine::TokenEvent>(&event)) {
    CollectedChoice& mine = choice(token->choice);
    mine.tokens.push_back(token->id);
    if (token->logprob) mine.logprobs.push_back(std::move(*token->logprob));
    for (text::OutputEvent& part : token->text) mine.text.push_back(std::move(part));
  } else if (auto* end = std::get_if<engine::ChoiceEnd>(&event)) {
    CollectedChoice& mine = choice(end->choice);
    for (const text::OutputEvent& part : end->text) mine.text.push_back(part);
    mine.end = std::move(*end);
  } else if (auto* scores = std::get_if<engine::PromptLogprobs>(&event)) {
    for (engine::LogprobEntry& entry : scores->entries) all.prompt_logprobs.push_back(std::move(entry));
  } else if (auto* done = std::get_if<engine::RequestEnd>(&event)) {
    all.timings = done->timings;
  } else if (auto* failure = std::get_if<engine::Failure>(&event)) {
    all.failure = std::move(*failure);
  } else {
    ++all.progress_events;
  }
}

/// Reads a request to its end.
inline Collected collect(engine::RequestHandle handle) {
  Collected all;
  while (auto event = handle.next()) collect(all, std::move(*event));
  return all;
}

}  // namespace lanner::test
