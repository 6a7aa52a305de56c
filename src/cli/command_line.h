// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/batch_command.h"
#include "cli/bench_command.h"
#include "cli/chat_command.h"
#include "cli/completion_command.h"
#include "cli/environment.h"
#include "cli/fit_command.h"
#include "cli/info_command.h"
#include "cli/logits_command.h"
#include "cli/perplexity_command.h"
#include "cli/quantize_command.h"
#include "cli/run_command.h"
#include "cli/serve_command.h"
#include "cli/synth_command.h"
#include "cli/tokenize_command.h"

namespace lanner::cli {

/// The tree of commands and options, and what the user chose in it.
class CommandLine {
 public:
  explicit CommandLine(const Environment& environment);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Throws CLI::ParseError, also for --help and --version.
  void parse(std::vector<std::string> arguments);
  /// Runs the chosen command.
  int run(Console& console) const { return chosen_(console); }
  CLI::App& app() { return app_; }
  /// "lanner run" after the user named a command, else "lanner".
  std::string command_name() const;

 private:
  template <typename Options>
  void add(const char* name, const char* summary, Options& options, void (*declare)(CLI::App&, Options&),
           int (*run)(const Options&, Console&));

  CLI::App app_{"lanner: Gemma 4 and Qwen 3.5 checkpoints on a plain CPU", "lanner"};
  std::function<int(Console&)> chosen_;
  RunOptions run_;
  ChatOptions chat_;
  BatchOptions batch_;
  InfoOptions info_;
  FitOptions fit_;
  TokenizeOptions tokenize_;
  PerplexityOptions perplexity_;
  LogitsOptions logits_;
  QuantizeArguments quantize_;
  BenchArguments bench_;
  ServeOptions serve_;
  SynthArguments synth_;
  CompletionOptions completion_;
};

}  // namespace lanner::cli
