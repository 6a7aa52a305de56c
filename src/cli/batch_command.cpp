// SPDX-License-Identifier: MIT
#include "cli/batch_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <set>
#include <vector>

#include "cli/batch_output.h"
#include "cli/batch_request.h"
#include "cli/batch_result.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/model_loading.h"
#include "cli/progress_bar.h"
#include "cli/validators.h"
#include "core/error.h"
#include "io/message_text.h"
#include "io/text_file.h"
#include "server/problem.h"
#include "server/served_model.h"

namespace lanner::cli {
namespace {

constexpr std::size_t kMostPrompts = 1 << 20;  ///< of the lines that are answered at once
constexpr std::uint64_t kLargestInput = std::uint64_t{1} << 34;

/// The lines of the input, none of them empty. Throws Error for a custom_id that is there twice.
std::vector<BatchLine> read_lines(const std::filesystem::path& file) {
  const std::string text = io::read_text_file(file, kLargestInput);
  const std::string name = io::printable(file.native());
  std::vector<BatchLine> lines;
  std::set<std::string> known;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{} line {}", name, number);
    std::string id = read_custom_id(line);
    if (!id.empty() && !known.insert(id).second)
      throw Error(ErrorKind::kCorrupt, fmt::format("{}: custom_id {} was there before, expected each once",
                                                   where, io::in_quotes(id)));
    lines.push_back({.number = number, .text = std::move(line), .custom_id = std::move(id)});
  }
  return lines;
}

/// Keeps several requests going and writes each result as it comes.
class BatchRun {
 public:
  BatchRun(server::ServedModel& served, const BatchOptions& options, BatchOutput& output)
      : served_(served), options_(options), output_(output) {}

  bool has_room() const { return running_.size() < options_.parallel; }
  bool is_idle() const { return running_.empty(); }
  std::size_t failed() const { return failed_; }

  void begin(const BatchLine& line) {
    try {
      running_.emplace_back(line, batch_plan(line, options_.sampling, served_), *served_.engine);
    } catch (const Error& error) {
      // A line that cannot be answered is an answer; the others go on.
      ++failed_;
      output_.append(failure_line(line, server::problem_of(error, line.result_id())));
    }
  }

  /// Takes what came within a moment; how many requests ended.
  std::size_t take() {
    constexpr std::chrono::milliseconds kMoment{2};
    for (BatchResult& one : running_) one.take(&one == &running_.front() ? kMoment : kMoment * 0);
    for (const BatchResult& one : running_) {
      if (!one.is_over()) continue;
      if (one.failed()) ++failed_;
      output_.append(one.text());
    }
    return std::erase_if(running_, [](const BatchResult& one) { return one.is_over(); });
  }

 private:
  server::ServedModel& served_;
  const BatchOptions& options_;
  BatchOutput& output_;
  std::vector<BatchResult> running_;
  std::size_t failed_ = 0;
};

/// The engine and the rules that lines are read by.
std::shared_ptr<server::ServedModel> serve_lines(const BatchOptions& options, Console& console) {
  const auto model = load_model(options.model, console);
  engine::EngineOptions settings = engine_options(options.model, options.sampling);
  settings.max_sequences = options.parallel;
  settings.max_queue = kMostPrompts;
  auto served = server::serve_model(model, settings, {.model = model->checkpoint().folder().filename()});
  set_defaults(options.sampling, *model, served->rules);
  if (const auto adapters = mount_adapters(options.adapters, *served->engine, console))
    for (const std::string& id : adapters->ids) served->rules.adapters.push_back({.id = id});
  return served;
}

void require_two_files(const BatchOptions& options) {
  std::error_code ignored;
  if (std::filesystem::equivalent(options.input, options.output, ignored))
    throw Error(ErrorKind::kInvalidArgument,
                io::printable(options.output.native()) +
                    ": is the file with the requests, give another one for the results");
}

}  // namespace

void declare_batch(CLI::App& app, BatchOptions& options) {
  app.add_option("IN", options.input, "JSON lines: {\"custom_id\": ..., \"url\": ..., \"body\": {...}}")
      ->required()
      ->type_name("IN.jsonl");
  app.add_option("OUT", options.output, "results, a line per request as it finishes; goes on where it ended")
      ->required()
      ->type_name("OUT.jsonl");
  app.add_option("-m,--model", options.model.folder,
                 "checkpoint folder or Hugging Face id (default: tale-gemma4)")
      ->type_name("FOLDER");
  app.add_option("--parallel", options.parallel, "requests at once (default: 8)")
      ->type_name("N")
      ->check(whole_between(1, 256));
  add_sampling_options(app, options.sampling);
  add_adapter_option(app, options.adapters, "all together, unless a line's body has \"adapter\"");
  add_machine_options(app, options.model);
  set_examples(app,
               "  lanner batch questions.jsonl answers.jsonl -m FOLDER\n"
               "  lanner batch questions.jsonl answers.jsonl -n 200 --temp 0 --parallel 4\n"
               "Options hold for what a line's body leaves open.\n");
}

int batch_command(const BatchOptions& options, Console& console) {
  require_two_files(options);
  std::vector<BatchLine> lines = read_lines(options.input);
  BatchOutput output(options.output);
  const std::size_t all = lines.size();
  std::erase_if(lines, [&](const BatchLine& line) { return output.has(line); });
  const std::size_t before = all - lines.size();
  const std::shared_ptr<server::ServedModel> served = serve_lines(options, console);

  const InterruptWatch watch;
  ProgressBar bar(console, "batch");
  BatchRun run(*served, options, output);
  std::size_t next = 0;
  std::size_t done = before;
  while ((next < lines.size() || !run.is_idle()) && !watch.raised()) {
    while (next < lines.size() && run.has_room()) {
      const std::size_t failed = run.failed();
      run.begin(lines[next++]);
      done += run.failed() - failed;
    }
    done += run.take();
    bar.update(done, all);
  }
  bar.clear();
  console.log << fmt::format("{} of {} requests are answered", done, all);
  if (before > 0) console.log << fmt::format(", {} of them by an earlier run", before);
  if (run.failed() > 0) console.log << fmt::format("; {} failed, their lines say why", run.failed());
  console.log << '\n' << std::flush;
  return watch.raised() ? kExitInterrupted : kExitOk;
}

}  // namespace lanner::cli
