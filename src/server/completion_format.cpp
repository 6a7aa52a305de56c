// SPDX-License-Identifier: MIT
#include "server/completion_format.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "server/chat_format.h"
#include "server/error_response.h"
#include "server/logprob_json.h"

namespace lanner::server {
namespace {

class CompletionFormat final : public AnswerFormat {
 public:
  CompletionFormat(const text::Tokenizer& tokenizer, CompletionFormatOptions options)
      : tokenizer_(&tokenizer), options_(std::move(options)) {}

  Json whole(const Answer& answer) override;
  std::string opening(const Answer&) override { return {}; }
  std::string piece(const engine::Event& event, const Answer& answer) override;
  std::string closing(const Answer& answer) override;
  std::string failure(const Problem& problem, std::string_view request_id) override {
    return data_event(error_body(problem, ErrorStyle::kOpenAi, request_id));
  }

 private:
  Json whole_choice(const Answer& answer, std::size_t candidate, std::size_t index) const;
  std::string echoed(std::size_t candidate) const;
  void add_prompt(const Answer& answer, std::size_t candidate, LegacyLogprobs& scores) const;
  std::string chunk_event(const Answer& answer, Json choice) const;
  std::string start_choice(const Answer& answer, std::size_t index);
  std::string token_event(const engine::TokenEvent& token, const Answer& answer);
  std::string end_event(const engine::ChoiceEnd& end, const Answer& answer);

  const text::Tokenizer* tokenizer_;
  CompletionFormatOptions options_;
  std::set<std::size_t> started_;
  std::map<std::size_t, LegacyLogprobs> scores_;  ///< of streamed choices
};

Json completion_head(const Answer& answer) {
  const AnswerFacts& facts = answer.facts();
  return {{"id", facts.id},
          {"object", "text_completion"},
          {"created", facts.created},
          {"model", facts.model},
          {"system_fingerprint", facts.fingerprint}};
}

/// Mean log-probability of a choice's tokens: what best_of ranks by.
double mean_logprob(const AnswerChoice& choice) {
  if (choice.logprobs.empty()) return 0;
  const double sum = std::accumulate(
      choice.logprobs.begin(), choice.logprobs.end(), 0.0,
      [](double total, const engine::LogprobEntry& entry) { return total + double(entry.token.logprob); });
  return sum / static_cast<double>(choice.logprobs.size());
}

std::string visible_text(const std::vector<text::OutputEvent>& parts) {
  std::string text;
  for (const text::OutputEvent& part : parts) text += part.text;
  return text;
}

std::string CompletionFormat::echoed(std::size_t candidate) const {
  return options_.echo.empty() ? std::string() : options_.echo.at(candidate / options_.choices);
}

void CompletionFormat::add_prompt(const Answer& answer, std::size_t candidate, LegacyLogprobs& scores) const {
  if (options_.echo.empty()) return;
  const std::size_t prompt = candidate / options_.choices;
  const engine::PromptLogprobs& known = answer.prompt_logprobs().at(prompt);
  const std::size_t unscored = options_.prompts[prompt].size() - known.entries.size();
  for (std::size_t i = 0; i < unscored; ++i) scores.add_unscored(options_.prompts[prompt][i]);
  for (const engine::LogprobEntry& entry : known.entries) scores.add(entry);
}

Json CompletionFormat::whole_choice(const Answer& answer, std::size_t candidate, std::size_t index) const {
  const AnswerChoice& choice = answer.choice(candidate);
  Json json{{"index", index}, {"text", echoed(candidate) + choice.content}, {"logprobs", nullptr}};
  if (options_.logprobs) {
    LegacyLogprobs scores(*tokenizer_);
    add_prompt(answer, candidate, scores);
    for (const engine::LogprobEntry& entry : choice.logprobs) scores.add(entry);
    json["logprobs"] = scores.take();
  }
  json["finish_reason"] = choice.finish_reason();
  json["stop_reason"] = stop_reason_json(answer, candidate);
  if (options_.tokens) json["token_ids"] = choice.tokens;
  if (options_.prompt_logprobs)
    json["prompt_logprobs"] =
        prompt_logprobs_json(answer.prompt_logprobs().at(candidate / options_.choices), *tokenizer_);
  return json;
}

Json CompletionFormat::whole(const Answer& answer) {
  Json json = completion_head(answer);
  json["choices"] = Json::array();
  const std::size_t candidates = options_.choices;
  for (std::size_t first = 0; first < answer.choices().size(); first += candidates) {
    std::vector<std::size_t> order(candidates);
    std::iota(order.begin(), order.end(), first);
    if (options_.kept_choices < candidates)
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return mean_logprob(answer.choice(a)) > mean_logprob(answer.choice(b));
      });
    for (std::size_t i = 0; i < options_.kept_choices; ++i)
      json["choices"].push_back(whole_choice(answer, order[i], json["choices"].size()));
  }
  json["usage"] = usage_json(answer);
  json["lanner"] = extras_json(answer);
  return json;
}

std::string CompletionFormat::chunk_event(const Answer& answer, Json choice) const {
  Json json = completion_head(answer);
  json["choices"] = Json::array({std::move(choice)});
  if (options_.usage_chunk) json["usage"] = nullptr;
  return data_event(json);
}

std::string CompletionFormat::start_choice(const Answer& answer, std::size_t index) {
  if (!started_.insert(index).second) return {};
  LegacyLogprobs& scores = scores_.emplace(index, LegacyLogprobs(*tokenizer_)).first->second;
  if (options_.echo.empty()) return {};
  Json choice{{"index", index}, {"text", echoed(index)}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
  if (options_.logprobs) {
    add_prompt(answer, index, scores);
    choice["logprobs"] = scores.take();
  }
  return chunk_event(answer, std::move(choice));
}

std::string CompletionFormat::token_event(const engine::TokenEvent& token, const Answer& answer) {
  const std::string text = visible_text(token.text);
  Json choice{{"index", token.choice}, {"text", text}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
  if (options_.logprobs && token.logprob) {
    LegacyLogprobs& scores = scores_.at(token.choice);
    scores.add(*token.logprob);
    choice["logprobs"] = scores.take();
  } else if (text.empty()) {
    return {};
  }
  return chunk_event(answer, std::move(choice));
}

std::string CompletionFormat::end_event(const engine::ChoiceEnd& end, const Answer& answer) {
  std::string text = visible_text(end.text);
  if (answer.facts().include_stop && end.stop_string) text += *end.stop_string;
  Json choice{{"index", end.choice},
              {"text", text},
              {"logprobs", nullptr},
              {"finish_reason", answer.choice(end.choice).finish_reason()},
              {"stop_reason", stop_reason_json(answer, end.choice)}};
  if (options_.tokens) choice["token_ids"] = answer.choice(end.choice).tokens;
  return chunk_event(answer, std::move(choice));
}

std::string CompletionFormat::piece(const engine::Event& event, const Answer& answer) {
  if (const auto* token = std::get_if<engine::TokenEvent>(&event)) {
    std::string events = start_choice(answer, token->choice);
    return events += token_event(*token, answer);
  }
  if (const auto* end = std::get_if<engine::ChoiceEnd>(&event)) {
    std::string events = start_choice(answer, end->choice);
    return events += end_event(*end, answer);
  }
  return {};
}

std::string CompletionFormat::closing(const Answer& answer) {
  std::string events;
  if (options_.usage_chunk) {
    Json json = completion_head(answer);
    json["choices"] = Json::array();
    json["usage"] = usage_json(answer);
    json["lanner"] = extras_json(answer);
    events = data_event(json);
  }
  return events + "data: [DONE]\n\n";
}

}  // namespace

std::unique_ptr<AnswerFormat> make_completion_format(const text::Tokenizer& tokenizer,
                                                     CompletionFormatOptions options) {
  return std::make_unique<CompletionFormat>(tokenizer, std::move(options));
}

}  // namespace lanner::server
