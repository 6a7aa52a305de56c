// SPDX-License-Identifier: MIT
#include "cli/run_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/answer_reader.h"
#include "cli/exit_code.h"
#include "cli/model_loading.h"
#include "engine/chat_prompt.h"
#include "io/json.h"

namespace lanner::cli {
namespace {

engine::ChatPrompt encode_prompt(const RunOptions& options, const engine::LoadedModel& model,
                                 const std::string& text, const nlohmann::ordered_json& tools) {
  if (options.raw) return {model.encode_plain(text), {}};
  text::ChatInput input{.tools = tools, .thinking = options.chat.thinking};
  if (!options.chat.system.empty())
    input.messages.push_back({{"role", "system"}, {"content", options.chat.system}});
  input.messages.push_back({{"role", "user"}, {"content", text}});
  return engine::encode_chat_prompt(model.text(), input);
}

io::Json as_json(const ReadAnswer& answer, const engine::LoadedModel& model, std::uint64_t seed) {
  const AnswerStatistics& statistics = answer.statistics;
  io::Json calls = io::Json::array();
  for (const auto& call : answer.output.tool_calls) {
    const io::Json arguments = io::Json::parse(call.arguments, nullptr, /*allow_exceptions=*/false);
    calls.push_back({{"name", call.name},
                     {"arguments", arguments.is_discarded() ? io::Json(call.arguments) : arguments}});
  }
  return {{"model", model.checkpoint().folder().string()},
          {"text", answer.output.content},
          {"reasoning", answer.output.reasoning},
          {"tool_calls", calls},
          {"tokens", answer.tokens},
          {"finish_reason", finish_name(answer.finish_reason)},
          {"seed", seed},
          {"prompt_tokens", statistics.prompt_tokens},
          {"cached_tokens", statistics.timings.cached_tokens},
          {"generated_tokens", statistics.timings.generated_tokens},
          {"timings",
           {{"load_seconds", statistics.load_seconds},
            {"prompt_seconds", statistics.timings.prompt_seconds},
            {"decode_seconds", statistics.timings.decode_seconds},
            {"first_token_seconds", statistics.first_token_seconds},
            {"total_seconds", statistics.total_seconds},
            {"prompt_tokens_per_second", statistics.timings.prompt_rate()},
            {"decode_tokens_per_second", statistics.timings.decode_rate()}}}};
}

/// Why the output is not what the user may expect.
std::string remarks(const RunOptions& options, const ReadAnswer& answer, const Terminal& terminal) {
  const bool hidden = !options.json && !shows_reasoning(options.chat.display, terminal);
  if (answer.output.content.empty() && answer.output.tool_calls.empty() && !answer.output.reasoning.empty() &&
      hidden)
    return "the answer ended inside its thoughts, which are hidden; --show-thinking shows them, --no-think "
           "asks for none\n";
  return {};
}

}  // namespace

void declare_run(CLI::App& app, RunOptions& options) {
  add_folder(app, options.model);
  add_prompt_options(app, options.prompt);
  app.add_flag("--raw,--ignore-chat-template", options.raw,
               "continue the text itself, without chat template");
  app.add_flag("--json", options.json, "print one JSON object at the end instead of streaming");
  add_chat_options(app, options.chat);
  add_sampling_options(app, options.sampling);
  add_prompt_cache_options(app, options.prompt_cache);
  add_adapter_option(app, options.adapters, "what they add to the model is added up");
  add_machine_options(app, options.model);
  add_kv_option(app, options.model, "as kv_config.json says, else bf16");
  set_examples(app,
               "  lanner run -p \"Tell me a fairy tale.\"\n"
               "  lanner run FOLDER -p \"Hello\" --temp 0 -n 100 --json\n"
               "  lanner run org/name -f question.txt --system \"Answer in one sentence.\" --no-think\n"
               "  lanner run FOLDER -f long.txt --prompt-cache long.state\n"
               "  lanner run FOLDER -p \"Hello\" --adapter pirate@0.8\n"
               "  echo \"Once upon a time\" | lanner run FOLDER --raw -n 200 --seed 7\n");
}

int run_command(const RunOptions& options, Console& console) {
  require_utf8(options.chat.system, "--system");
  const std::string text = read_prompt(options.prompt, console);
  const nlohmann::ordered_json tools = read_tools(options.chat);
  const AnswerClock load_clock;
  const auto model = load_model(options.model, console);
  const double load_seconds = load_clock.seconds();
  refuse_media(options.chat, model->model().facts());

  const engine::SamplingOptions sampling =
      sampling_options(options.sampling, model->defaults(), model->tokenizer().vocab_size(), random_seed());
  const engine::ChatPrompt prompt = encode_prompt(options, *model, text, tools);
  engine::Request request = answer_request(options.sampling, prompt.ids, *model);
  if (!options.prompt_cache.file.empty() && prompt.ids.size() > 1) {
    request.checkpoints = prompt.checkpoints;
    // All but the last token: that one must be computed for there to be an answer.
    request.checkpoints.push_back({.tokens = prompt.ids.size() - 1});
  }
  request.sampling = sampling;
  request.form = options.raw ? engine::AnswerForm::kPlain : engine::AnswerForm::kChat;
  request.tools = tools;
  engine::Engine engine(model, engine_options(options.model, options.sampling));
  request.adapters = mount_adapters(options.adapters, engine, console);
  const std::shared_ptr<const engine::AdapterSet> adapters = request.adapters;
  load_prompt_cache(options.prompt_cache, engine, adapters.get());
  AnswerPrinter printer(console, options.chat.display);
  ReadAnswer answer = read_answer(engine, std::move(request), options.json ? nullptr : &printer, console);
  answer.statistics.load_seconds = load_seconds;

  if (options.json) console.out << as_json(answer, *model, sampling.seed).dump() << '\n';
  console.log << remarks(options, answer, console.terminal);
  save_prompt_cache(options.prompt_cache, engine,
                    {std::span(prompt.ids).first(prompt.ids.size() - 1), adapters.get()}, console);
  console.log << statistics_line(answer.statistics) << fmt::format("; load {:.0f} ms", 1000 * load_seconds);
  if (sampling.temperature > 0) console.log << "; seed " << sampling.seed;
  console.log << '\n' << std::flush;
  return answer.finish_reason == engine::FinishReason::kCancelled ? kExitInterrupted : kExitOk;
}

}  // namespace lanner::cli
