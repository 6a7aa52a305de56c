// SPDX-License-Identifier: MIT
// bench_engine FOLDER turns TOKENS    the second turn of a chat with a history of about TOKENS tokens, cold
// and
//                                     warm, thinking on and off
// bench_engine FOLDER arrival TOKENS  the time between the tokens of three streams while a prompt of TOKENS
//                                     tokens is computed
// One JSON object a line. Default options, int8 activations, all cores.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/cpu_features.h"
#include "core/philox.h"
#include "engine/chat_prompt.h"
#include "engine/engine.h"

namespace {

using namespace lanner;
using namespace lanner::engine;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

EngineOptions options() { return {.threads = static_cast<int>(std::thread::hardware_concurrency())}; }

struct Measured {
  double first_token_ms = 0;
  std::size_t prompt = 0, cached = 0;
  std::vector<TokenId> tokens;
};

Measured answer(Engine& engine, Request request) {
  Measured result{.prompt = request.prompt.size(), .tokens = {}};
  const auto start = Clock::now();
  RequestHandle handle = engine.require(std::move(request));
  while (auto event = handle.next()) {
    if (const auto* token = std::get_if<TokenEvent>(&*event)) {
      if (result.tokens.empty()) result.first_token_ms = ms_since(start);
      result.tokens.push_back(token->id);
    } else if (const auto* end = std::get_if<RequestEnd>(&*event)) {
      result.cached = end->timings.cached_tokens;
    }
  }
  return result;
}

Request chat(const LoadedModel& model, const text::ChatInput& input) {
  ChatPrompt prompt = encode_chat_prompt(model.text(), input);
  return {.prompt = std::move(prompt.ids),
          .sampling = {.temperature = 0},
          .max_tokens = 24,
          .end_of_text = EndOfText::kBanned,
          .checkpoints = std::move(prompt.checkpoints)};
}

void turns(const std::shared_ptr<const LoadedModel>& model, std::size_t tokens) {
  for (const auto thinking : {text::ThinkingSwitch::kOn, text::ThinkingSwitch::kOff}) {
    text::ChatInput input{.thinking = thinking};
    std::string story;
    for (int i = 0; model->encode_plain(story).size() < tokens; ++i)
      for (int j = 0; j < 50; ++j) story += "The fox went over hill " + std::to_string(50 * i + j) + ". ";
    input.messages.push_back({{"role", "user"}, {"content", story}});
    Engine engine(model, options());
    const Measured first = answer(engine, chat(*model, input));
    // Reasoning is no part of the history; of random weights' answers, none is worth keeping.
    input.messages.push_back({{"role", "assistant"}, {"content", "It went over many hills."}});
    input.messages.push_back({{"role", "user"}, {"content", "And what did it find behind the last one?"}});
    const Measured warm = answer(engine, chat(*model, input));
    std::cout << Json{{"thinking", thinking == text::ThinkingSwitch::kOn},
                      {"first_turn_tokens", first.prompt},
                      {"first_turn_ms", first.first_token_ms},
                      {"second_turn_tokens", warm.prompt},
                      {"computed_anew", warm.prompt - warm.cached},
                      {"second_turn_ms", warm.first_token_ms}}
              << std::endl;
  }
}

Json summary(std::vector<double> gaps) {
  std::ranges::sort(gaps);
  return {{"tokens", gaps.size()},
          {"median_ms", gaps[gaps.size() / 2]},
          {"p99_ms", gaps[gaps.size() * 99 / 100]},
          {"worst_ms", gaps.back()}};
}

void arrival(const std::shared_ptr<const LoadedModel>& model, std::size_t tokens) {
  constexpr std::size_t kWarm = 40;  // tokens of each stream before the prompt comes
  const auto vocabulary = static_cast<std::uint32_t>(model->model().facts().vocabulary);
  const auto request = [&](std::size_t prompt, std::size_t answer, std::uint64_t seed) {
    Request one{.max_tokens = answer, .end_of_text = EndOfText::kBanned, .form = AnswerForm::kPlain};
    for (std::uint32_t i = 0; i < prompt; ++i)
      one.prompt.push_back(static_cast<TokenId>(philox4x32(seed, {i, 0, 0, 0})[0] % vocabulary));
    return one;
  };
  Engine engine(model, options());
  struct Stream {
    RequestHandle handle;
    Clock::time_point last;
    std::size_t tokens = 0;
  };
  std::vector<Stream> streams;
  for (std::uint64_t i = 0; i < 3; ++i) streams.push_back({engine.require(request(64, 4000, i)), {}});
  std::vector<double> before, during;
  std::optional<RequestHandle> long_one;
  Clock::time_point sent;
  for (bool done = false; !done;) {
    for (Stream& stream : streams) {
      const auto event = stream.handle.next();
      if (!event || !std::holds_alternative<TokenEvent>(*event)) continue;
      const auto now = Clock::now();
      const double gap = std::chrono::duration<double, std::milli>(now - stream.last).count();
      if (++stream.tokens > kWarm / 2) (long_one ? during : before).push_back(gap);
      stream.last = now;
    }
    if (!long_one && streams[0].tokens == kWarm) {
      sent = Clock::now();
      long_one.emplace(engine.require(request(tokens, 1, 9)));
    }
    while (long_one && !done)
      if (const auto event = long_one->next_for(std::chrono::milliseconds(0)))
        done = std::holds_alternative<TokenEvent>(*event);
      else
        break;
  }
  std::cout << Json{{"budget_ms", engine.options().inter_token_budget.count()},
                    {"prompt_tokens", tokens},
                    {"prompt_ms", ms_since(sent)},
                    {"between_tokens_before", summary(before)},
                    {"between_tokens_during", summary(during)}}
            << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[2] : "";
  const std::size_t tokens = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 4096;
  if (mode != "turns" && mode != "arrival") {
    std::cerr << "bench_engine FOLDER turns|arrival [TOKENS]\n";
    return 2;
  }
  const auto model = std::make_shared<const LoadedModel>(
      argv[1],
      LoadOptions{.isa = detect_isa(), .compute = device::Compute::kInt8, .threads = options().threads});
  mode == "turns" ? turns(model, tokens) : arrival(model, tokens);
  return 0;
}
