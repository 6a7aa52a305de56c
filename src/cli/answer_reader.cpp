// SPDX-License-Identifier: MIT
#include "cli/answer_reader.h"

#include <chrono>

#include "cli/interrupt.h"
#include "cli/progress_bar.h"
#include "core/error.h"

namespace lanner::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};

/// Takes in the events of one answer.
class AnswerCollector {
 public:
  AnswerCollector(AnswerPrinter* printer, ProgressBar& bar) : printer_(printer), bar_(bar) {}

  void take(const engine::Event& event) {
    if (const auto* progress = std::get_if<engine::PromptProgress>(&event)) {
      bar_.update(progress->done, progress->total);
    } else if (const auto* token = std::get_if<engine::TokenEvent>(&event)) {
      if (answer_.tokens.empty()) answer_.statistics.first_token_seconds = clock_.seconds();
      answer_.tokens.push_back(token->id);
      show(token->text);
    } else if (const auto* end = std::get_if<engine::ChoiceEnd>(&event)) {
      answer_.finish_reason = end->reason;
      answer_.statistics.usage = end->usage;
      show(end->text);
    } else if (const auto* done = std::get_if<engine::RequestEnd>(&event)) {
      answer_.statistics.prompt_tokens = done->timings.prompt_tokens;
      answer_.statistics.timings = done->timings;
    } else if (const auto* failure = std::get_if<engine::Failure>(&event)) {
      throw Error(failure->error, failure->message);
    }
  }

  ReadAnswer finish() {
    bar_.clear();
    if (printer_ != nullptr) printer_->finish();
    answer_.output = text::collect_output(events_);
    answer_.statistics.total_seconds = clock_.seconds();
    return std::move(answer_);
  }

 private:
  void show(const std::vector<text::OutputEvent>& events) {
    if (!events.empty()) bar_.clear();
    for (const text::OutputEvent& event : events) {
      events_.push_back(event);
      if (printer_ != nullptr) printer_->print(event);
    }
  }

  AnswerPrinter* printer_;
  ProgressBar& bar_;
  const AnswerClock clock_;
  std::vector<text::OutputEvent> events_;
  ReadAnswer answer_;
};

}  // namespace

ReadAnswer read_answer(engine::Engine& engine, engine::Request request, AnswerPrinter* printer,
                       Console& console) {
  const InterruptWatch watch;
  ProgressBar bar(console, "prompt");
  AnswerCollector collector(printer, bar);
  engine::RequestHandle handle = engine.require(std::move(request));
  while (!handle.is_over()) {
    if (watch.raised()) handle.cancel();
    if (const auto event = handle.next_for(kBetweenLooks)) collector.take(*event);
  }
  return collector.finish();
}

}  // namespace lanner::cli
