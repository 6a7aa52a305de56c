// SPDX-License-Identifier: MIT
#include "cli/bench_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/machine_limits.h"
#include "cli/model_loading.h"
#include "cli/validators.h"
#include "core/error.h"
#include "engine/benchmark.h"
#include "io/json.h"
#include "io/message_text.h"

namespace lanner::cli {
namespace {

/// One test with one number of threads.
struct Result {
  engine::BenchmarkTest test;
  int threads = 0;
  std::vector<double> seconds;  ///< sorted
  engine::ForwardWork work;
  std::optional<device::Roofline> roofline;

  double rate(double time) const { return static_cast<double>(test.tokens()) / time; }
  double median() const { return rate(seconds[seconds.size() / 2]); }
  /// Forwards count for decoding, tokens for prompts.
  double units() const {
    return static_cast<double>(test.decode != 0 && test.prompt == 0 ? test.decode : test.tokens());
  }
  double share() const { return work.bound_seconds(*roofline) / seconds[seconds.size() / 2]; }
};

std::vector<engine::BenchmarkTest> tests_of(const BenchArguments& arguments) {
  std::vector<engine::BenchmarkTest> tests;
  for (const std::size_t depth : arguments.depths) {
    for (const std::size_t prompt : arguments.prompts)
      if (prompt != 0) tests.push_back({.prompt = prompt, .depth = depth});
    for (const std::size_t sequences : arguments.sequences)
      for (const std::size_t decode : arguments.decodes)
        if (decode != 0) tests.push_back({.decode = decode, .depth = depth, .sequences = sequences});
    for (std::size_t i = 0; i + 1 < arguments.mixed.size(); i += 2)
      for (const std::size_t sequences : arguments.sequences)
        tests.push_back({.prompt = arguments.mixed[i],
                         .decode = arguments.mixed[i + 1],
                         .depth = depth,
                         .sequences = sequences});
  }
  if (tests.empty()) throw Error(ErrorKind::kInvalidArgument, "nothing to measure: every -p and -n is 0");
  return tests;
}

io::Json json_of(const Result& result) {
  std::vector<double> rates;
  for (const double time : result.seconds) rates.push_back(result.rate(time));
  io::Json object = {{"test", result.test.name()},
                     {"prompt", result.test.prompt},
                     {"decode", result.test.decode},
                     {"depth", result.test.depth},
                     {"sequences", result.test.sequences},
                     {"threads", result.threads},
                     {"tokens_per_second", result.median()},
                     {"all_tokens_per_second", rates},
                     {"read_bytes", result.work.read_bytes / result.units()},
                     {"product_ops", result.work.product_ops / result.units()}};
  if (result.roofline) object["share_of_bound"] = result.share();
  return object;
}

void print_row(const Result& result, std::ostream& out) {
  out << fmt::format("| {:<22} | {:>7} | {:>9.2f} | {:>9.2f} | {:>9.2f} |", result.test.name(),
                     result.threads, result.median(), result.rate(result.seconds.back()),
                     result.rate(result.seconds.front()));
  if (result.roofline) {
    const bool reads = result.work.read_bytes / result.roofline->read_bytes_per_second >
                       result.work.product_ops / result.roofline->product_ops_per_second();
    out << fmt::format(" {:>10.3f} | {:>9.3f} | {:>5.1f} % of {} |",
                       result.work.read_bytes / result.units() / 1e9,
                       result.work.product_ops / result.units() / 1e9, 100 * result.share(),
                       reads                                      ? "bandwidth"
                       : result.roofline->half_ops_per_second > 0 ? "half"
                                                                  : "int8");
  }
  out << '\n' << std::flush;
}

std::string arithmetic_name(device::Compute compute) {
  if (compute == device::Compute::kExact) return "exact";
  return fmt::format("{} activations", device::name(compute));
}

device::Roofline measure_limits(const engine::LoadedModel& model, device::Stream& stream, std::ostream& log) {
  if (model.ops().cuda != nullptr) {
    const device::Roofline limits = device::measure_cuda_roofline(*model.ops().cuda);
    log << fmt::format("{}: a copy moves {:.2f} TB/s, tensor cores reach {:.0f} Top/s in half precision\n",
                       model.ops().device, limits.read_bytes_per_second / 1e12,
                       limits.half_ops_per_second / 1e12);
    return limits;
  }
  const device::Roofline limits = device::measure_roofline(model.ops().isa, stream.pool());
  log << fmt::format("{} threads: {:.1f} GB/s read, {:.0f} Gop/s float, {:.0f} Gop/s int8\n",
                     stream.pool().threads(), limits.read_bytes_per_second / 1e9,
                     limits.float_ops_per_second / 1e9, limits.int8_ops_per_second / 1e9);
  return limits;
}

void print_head(const engine::LoadedModel& model, const BenchArguments& arguments, std::ostream& out) {
  out << fmt::format("{} on {}, {}, chunks of {}{}, medians of {}\n\n",
                     io::printable(model.checkpoint().folder().filename().native()), model.ops().device,
                     arithmetic_name(arguments.model.arithmetic()), arguments.chunk,
                     arguments.all_rows ? ", all rows" : "", arguments.repeats)
      << "| test                   | threads |   tok/s   | slowest   | fastest   |"
      << (arguments.roofline ? " GB a unit  | Gop a unit | share of bound |" : "") << '\n'
      << "|---|---:|---:|---:|---:|" << (arguments.roofline ? "---:|---:|---|" : "") << '\n';
}

std::vector<std::size_t> pairs_checked(const std::vector<std::size_t>& mixed) {
  if (mixed.size() % 2 != 0)
    throw Error(ErrorKind::kInvalidArgument, "--mixed takes pairs: prompt tokens, decode steps");
  return mixed;
}

}  // namespace

void declare_bench(CLI::App& app, BenchArguments& arguments) {
  add_folder(app, arguments.model);
  const auto list = [&](const char* names, auto& values, const char* help, std::int64_t low) {
    app.add_option(names, values, help)
        ->type_name("N,N,...")
        ->delimiter(',')
        ->take_all()
        ->allow_extra_args(false)
        ->check(whole_between(low, 1 << 22));
  };
  list("-p,--prompt", arguments.prompts, "prompt sizes to time (default: 512; 0 for none)", 0);
  list("-n,--decode", arguments.decodes, "decode steps to time (default: 128; 0 for none)", 0);
  list("-b,--sequences", arguments.sequences, "sequences that decode together (default: 1)", 1);
  list("-d,--depth", arguments.depths, "tokens in the context before a test (default: 0)", 0);
  list("--mixed", arguments.mixed, "pairs of prompt size and decode steps timed as one", 1);
  app.add_option("--chunk", arguments.chunk, "prompt tokens of one forward pass (default: 512)")
      ->type_name("N")
      ->check(whole_between(1, 1 << 16));
  app.add_option("-r,--repeats", arguments.repeats, "runs of each test, after one to warm up (default: 5)")
      ->type_name("N")
      ->check(whole_between(1, 1000));
  app.add_option("-o,--output", arguments.format, "md (a table, default) or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"md", "json"}));
  app.add_flag("--roofline", arguments.roofline,
               "measure what the machine can read and multiply, keep it for lanner fit, and set every row in "
               "proportion");
  app.add_flag("--cpu-time", arguments.processor_time,
               "count the processor's seconds, not the elapsed ones: for one thread on a busy machine");
  app.add_flag(
      "--all-rows", arguments.all_rows,
      "want the final hidden states of all prompt rows, so that no layer is left out for any: Gemma's "
      "layers without keys and values of their own");
  add_machine_options(app, arguments.model);
  add_kv_option(app, arguments.model, "as the folder says, else bf16");
  app.remove_option(app.get_option("--threads"));
  app.add_option("-t,--threads", arguments.threads, "numbers of threads (default: the cores it may use)")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false)
      ->check(whole_between(1, 1024))
      ->group("Machine");
  set_examples(app,
               "  lanner bench FOLDER -p 512 -n 64 -d 0,8192 -t 1,2\n"
               "  lanner bench FOLDER -p 0 -n 32 -b 1,4,8 --roofline -o json\n");
}

int bench_command(const BenchArguments& arguments, Console& console) {
  const std::vector<engine::BenchmarkTest> tests = tests_of(arguments);
  pairs_checked(arguments.mixed);
  const std::shared_ptr<const engine::LoadedModel> loaded = load_model(arguments.model, console);
  const engine::LoadedModel& model = *loaded;
  std::vector<int> threads = arguments.threads;
  if (threads.empty()) threads.push_back(arguments.model.thread_count());
  const InterruptWatch watch;
  const bool table = arguments.format == "md";
  if (table) print_head(model, arguments, console.out);
  io::Json rows = io::Json::array();
  io::Json limits = io::Json::array();
  for (const int count : threads) {
    device::Stream stream(model.ops(), count);
    std::optional<device::Roofline> roofline;
    if (arguments.roofline) {
      roofline = measure_limits(model, stream, console.log);
      if (arguments.limits && model.ops().cuda == nullptr)
        write_machine_limits(*arguments.limits, {model.ops().isa, count}, *roofline);
      limits.push_back({{"threads", count},
                        {"read_bytes_per_second", roofline->read_bytes_per_second},
                        {"float_ops_per_second", roofline->float_ops_per_second},
                        {"int8_ops_per_second", roofline->int8_ops_per_second},
                        {"half_ops_per_second", roofline->half_ops_per_second}});
    }
    engine::Benchmark benchmark(
        model, stream,
        {.chunk = arguments.chunk,
         .clock =
             arguments.processor_time ? engine::BenchmarkClock::kProcessor : engine::BenchmarkClock::kElapsed,
         .prompt_rows = arguments.all_rows ? engine::PromptRows::kAll : engine::PromptRows::kLast});
    for (const engine::BenchmarkTest& test : tests) {
      Result result{test, count, {}, benchmark.work(test), roofline};
      // Once untimed, far enough that a delta net's states were written: finding memory is no part of speed.
      benchmark.run({.prompt = std::min<std::size_t>(test.prompt, 64),
                     .decode = std::min(test.decode, model.ops().delta_chunk + 1),
                     .depth = test.depth,
                     .sequences = test.sequences});
      for (std::size_t run = 0; run < arguments.repeats; ++run) {
        watch.check();
        result.seconds.push_back(benchmark.run(test));
      }
      std::ranges::sort(result.seconds);
      if (table) print_row(result, console.out);
      rows.push_back(json_of(result));
    }
  }
  if (!table)
    console.out << io::Json{{"model", model.checkpoint().folder().string()},
                            {"device", model.ops().device},
                            {"compute", device::name(arguments.model.arithmetic())},
                            {"chunk", arguments.chunk},
                            {"all_rows", arguments.all_rows},
                            {"limits", limits},
                            {"tests", rows}}
                       .dump(2)
                << '\n';
  return kExitOk;
}

}  // namespace lanner::cli
