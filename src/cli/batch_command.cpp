// SPDX-License-Identifier: MIT
#include "cli/batch_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
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
#include "engine/engine.h"
#include "io/message_text.h"
#include "io/text_file.h"

namespace lanner::cli {
namespace {

constexpr std::uint64_t kLargestInput = std::uint64_t{1} << 34;

/// The lines of the input, none of them empty. Throws Error for a line without custom_id and for one that is
/// there twice.
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
    std::string id = read_custom_id(line, where);
    if (!known.insert(id).second)
      throw Error(ErrorKind::kCorrupt, fmt::format("{}: custom_id {} was there before, expected each once",
                                                   where, io::in_quotes(id)));
    lines.push_back({.number = number, .text = std::move(line), .custom_id = std::move(id)});
  }
  return lines;
}

/// Keeps several requests going and writes each result as it comes.
class BatchRun {
 public:
  BatchRun(engine::Engine& engine, const BatchOptions& options, BatchOutput& output,
           std::shared_ptr<const engine::AdapterSet> adapters)
      : engine_(engine), options_(options), output_(output), adapters_(std::move(adapters)) {}

  bool has_room() const { return running_.size() < options_.parallel; }
  bool is_idle() const { return running_.empty(); }
  std::size_t failed() const { return failed_; }

  void begin(const BatchLine& line) {
    try {
      BatchRequest batch = read_batch_request(line, options_.sampling, engine_.model());
      running_.push_back({.line = line,
                          .kind = batch.kind,
                          .handle = engine_.require(with_adapters(std::move(batch))),
                          .result = {}});
    } catch (const Error& error) {
      // A line that cannot be answered is an answer; the others go on.
      ++failed_;
      output_.append(failure_line(line, 400, error.what()));
    }
  }

  /// Takes what came within a moment; how many requests ended.
  std::size_t take() {
    constexpr std::chrono::milliseconds kMoment{2};
    for (Running& one : running_)
      while (auto event = one.handle.next_for(&one == &running_.front() ? kMoment : kMoment * 0))
        one.result.take(std::move(*event));
    std::size_t ended = 0;
    for (Running& one : running_) {
      if (!one.handle.is_over()) continue;
      ++ended;
      finish(one);
    }
    std::erase_if(running_, [](const Running& one) { return one.handle.is_over(); });
    return ended;
  }

 private:
  struct Running {
    BatchLine line;
    BatchKind kind;
    engine::RequestHandle handle;
    BatchResult result;
  };

  engine::Request with_adapters(BatchRequest batch) {
    batch.request.adapters = batch.adapters ? engine_.adapters().select(*batch.adapters) : adapters_;
    return std::move(batch.request);
  }

  void finish(const Running& one) {
    if (!one.result.failed()) {
      const auto body = one.result.body(one.line, one.kind, engine_.model().tokenizer());
      return output_.append(success_line(one.line, body));
    }
    ++failed_;
    output_.append(failure_line(one.line, 500, one.result.failure()));
  }

  engine::Engine& engine_;
  const BatchOptions& options_;
  BatchOutput& output_;
  std::shared_ptr<const engine::AdapterSet> adapters_;  ///< of lines that name none
  std::vector<Running> running_;
  std::size_t failed_ = 0;
};

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
  std::vector<BatchLine> lines = read_lines(options.input);
  BatchOutput output(options.output);
  const std::size_t all = lines.size();
  std::erase_if(lines, [&](const BatchLine& line) { return output.finished().contains(line.custom_id); });
  const std::size_t before = all - lines.size();
  const auto model = load_model(options.model, console);
  engine::EngineOptions settings = engine_options(options.model, options.sampling);
  settings.max_sequences = options.parallel;
  engine::Engine engine(model, settings);
  auto adapters = mount_adapters(options.adapters, engine, console);

  const InterruptWatch watch;
  ProgressBar bar(console, "batch");
  BatchRun run(engine, options, output, std::move(adapters));
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
