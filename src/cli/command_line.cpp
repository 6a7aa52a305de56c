// SPDX-License-Identifier: MIT
#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/machine_limits.h"

namespace lanner::cli {
namespace {

/// llama.cpp spells some long options with one dash.
std::string modern_spelling(std::string argument) {
  if (argument == "-sys") return "--system";
  return argument;
}

}  // namespace

template <typename Options>
void CommandLine::add(const char* name, const char* summary, Options& options,
                      void (*declare)(CLI::App&, Options&), int (*run)(const Options&, Console&)) {
  CLI::App* command = app_.add_subcommand(name, summary);
  declare(*command, options);
  command->callback([this, &options, run] {
    chosen_ = [&options, run](Console& console) { return run(options, console); };
  });
}

CommandLine::CommandLine(const Environment& environment) {
  const ModelPlaces places{io::hub_folders(environment.hub), embedded_model_folders(environment)};
  for (ModelArguments* model :
       {&run_.model, &chat_.model, &batch_.model, &info_.model, &fit_.model, &tokenize_.model,
        &perplexity_.model, &logits_.model, &quantize_.model, &synth_.model, &bench_.model, &serve_.model})
    model->places = places;
  for (ModelArguments* model : {&perplexity_.model, &logits_.model})  // they tell what a model is
    model->usual_compute = device::Compute::kExact;
  chat_.history = history_file(environment);
  fit_.limits = bench_.limits = machine_limits_file(environment);

  app_.set_version_flag("--version", "lanner " LANNER_VERSION, "print the version");
  app_.set_help_flag("-h,--help", "print this text");
  app_.require_subcommand(1);
  app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // scripts append overrides
  app_.get_formatter()->column_width(34);
  add("run", "continue a prompt, once", run_, declare_run, run_command);
  add("chat", "talk with a model", chat_, declare_chat, chat_command);
  add("batch", "answer every line of a file", batch_, declare_batch, batch_command);
  add("serve", "answer HTTP clients of the OpenAI and Anthropic APIs", serve_, declare_serve, serve_command);
  add("info", "what is in a checkpoint", info_, declare_info, info_command);
  add("fit", "whether a model fits in memory, for how many users, how fast", fit_, declare_fit, fit_command);
  add("tokenize", "text to token ids and back", tokenize_, declare_tokenize, tokenize_command);
  add("perplexity", "how well a model predicts a text", perplexity_, declare_perplexity, perplexity_command);
  add("logits", "write logits and hidden states of given tokens", logits_, declare_logits, logits_command);
  add("quantize", "write a smaller, MLX-format checkpoint", quantize_, declare_quantize, quantize_command);
  add("bench", "tokens per second of prompts and answers", bench_, declare_bench, bench_command);
  add("synth", "write a model of random weights, for benchmarks", synth_, declare_synth, synth_command);
  add("completion", "print a completion script for a shell", completion_, declare_completion,
      completion_command);
  completion_.root = &app_;
  set_examples(app_,
               "  lanner run -p \"Tell me a fairy tale.\"\n"
               "  lanner run FOLDER -p \"Hello\" --temp 0 -n 100 --json\n"
               "  lanner chat FOLDER\n"
               "  lanner run --help\n");
}

void CommandLine::parse(std::vector<std::string> arguments) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  const auto is_first = [&](CLI::App* command) { return command->get_name() == first; };
  if (!first.empty() && !first.starts_with('-') && app_.get_subcommands(is_first).empty())
    throw CLI::ExtrasError(fmt::format("'{}' is not a command", first), CLI::ExitCodes::ExtrasError);
  std::ranges::transform(arguments, arguments.begin(), modern_spelling);
  std::ranges::reverse(arguments);  // CLI11 takes them from the back
  app_.parse(std::move(arguments));
}

std::string CommandLine::command_name() const {
  const auto chosen = app_.get_subcommands();
  return chosen.empty() ? "lanner" : "lanner " + chosen.front()->get_name();
}

}  // namespace lanner::cli
