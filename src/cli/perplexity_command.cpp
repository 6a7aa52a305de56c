// SPDX-License-Identifier: MIT
#include "cli/perplexity_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <numbers>
#include <optional>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/model_loading.h"
#include "cli/progress_bar.h"
#include "cli/validators.h"
#include "engine/adapter_fault.h"
#include "engine/agreement.h"
#include "engine/perplexity.h"
#include "io/json.h"

namespace lanner::cli {
namespace {

void print(const PerplexityOptions& options, const engine::Perplexity& result, const io::Json& facts,
           std::ostream& out) {
  if (options.json) {
    out << facts.dump() << '\n';
    return;
  }
  out << fmt::format("perplexity      {:.4f}\n", result.value())
      << fmt::format("nll per token   {:.6f}\n", result.nll_per_token())
      << fmt::format("bits per byte   {:.4f}\n", facts["bits_per_byte"].get<double>())
      << fmt::format("tokens scored   {} of {}, chunks of {}\n", result.scored_tokens,
                     facts["tokens"].get<std::size_t>(), facts["chunk"].get<std::size_t>());
  if (facts.contains("agreement")) {
    const io::Json& agreement = facts["agreement"];
    out << fmt::format(
        "against exact   mean KL divergence {:.6f} nats, largest {:.4f}, same top token {:.2f} %\n",
        agreement["mean_divergence"].get<double>(), agreement["largest_divergence"].get<double>(),
        100 * agreement["same_top_share"].get<double>());
  }
}

/// Against exact arithmetic and keys and values in float32.
engine::Agreement compare_with_exact(const PerplexityOptions& options, const engine::LoadedModel& model,
                                     device::Stream& stream, const std::vector<TokenId>& ids,
                                     ProgressBar& bar) {
  const engine::LoadedModel exact(model.checkpoint().folder(), {.isa = model.ops().isa,
                                                                .cuda = model.options().cuda,
                                                                .compute = device::Compute::kExact,
                                                                .kv_type = device::KvType::kF32});
  const InterruptWatch watch;
  return engine::measure_agreement(exact, model, stream, ids, options.chunk, [&](std::size_t done) {
    watch.check();
    bar.update(done, ids.size());
  });
}

}  // namespace

void declare_perplexity(CLI::App& app, PerplexityOptions& options) {
  add_folder(app, options.model);
  add_prompt_options(app, options.text);
  app.add_option("--chunk", options.chunk,
                 "tokens scored from an empty context each, at most the model's context (default: 512)")
      ->type_name("N")
      ->check(whole_between(2, 1 << 20));
  app.add_flag(
      "--agreement", options.agreement,
      "also compare every prediction with exact arithmetic and f32 keys and values (for --compute int8, "
      "--kv-type)");
  app.add_flag("--json", options.json, "one JSON object");
  add_adapter_option(app, options.adapters, "what they add to the model is added up");
  add_machine_options(app, options.model);
  add_kv_option(app, options.model, "f32, exact");
  set_examples(app,
               "  lanner perplexity FOLDER -f book.txt\n"
               "  lanner perplexity FOLDER -f book.txt --compute int8 --agreement\n"
               "  lanner perplexity FOLDER -f book.txt --chunk 1024 --json\n"
               "  lanner perplexity FOLDER -f book.txt --kv-type q4\n");
}

int perplexity_command(const PerplexityOptions& options, Console& console) {
  const std::string text = read_text(options.text, console);
  const auto loaded = load_model(options.model, console);
  const engine::LoadedModel& model = *loaded;
  const auto adapters = read_adapters(options.adapters, model.model(), model.ops(), console);
  if (adapters && options.agreement)
    throw Error(ErrorKind::kInvalidArgument,
                "--agreement compares ways to compute the model itself; leave out --adapter");
  device::Stream stream(model.ops(), options.model.thread_count());
  const std::size_t chunk = std::min(options.chunk, model.model().facts().context);
  const std::vector<TokenId> ids = model.tokenizer().encode(text);
  const auto start = std::chrono::steady_clock::now();
  const InterruptWatch watch;
  ProgressBar bar(console, "perplexity");
  const engine::PerplexityTask task{.ids = ids,
                                    .chunk = chunk,
                                    .adapters = adapters ? &adapters->lora : nullptr,
                                    .progress = [&](std::size_t done) {
                                      watch.check();
                                      bar.update(done, ids.size());
                                    }};
  const engine::Perplexity result =
      engine::blaming(adapters.get(), [&] { return engine::measure_perplexity(model, stream, task); });
  std::optional<engine::Agreement> agreement;
  if (options.agreement) agreement = compare_with_exact(options, model, stream, ids, bar);
  bar.clear();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double bits_per_byte = result.total_nll / std::numbers::ln2 / static_cast<double>(text.size());
  io::Json facts{{"model", model.checkpoint().folder().string()},
                 {"perplexity", result.value()},
                 {"nll_per_token", result.nll_per_token()},
                 {"bits_per_byte", bits_per_byte},
                 {"tokens", ids.size()},
                 {"scored_tokens", result.scored_tokens},
                 {"bytes", text.size()},
                 {"chunk", chunk},
                 {"seconds", seconds.count()}};
  if (agreement)
    facts["agreement"] = {{"mean_divergence", agreement->mean_divergence()},
                          {"largest_divergence", agreement->largest_divergence},
                          {"same_top_share", agreement->top_share()}};
  print(options, result, facts, console.out);
  console.log << fmt::format("{:.1f} s, {:.0f} tokens per second\n", seconds.count(),
                             static_cast<double>(ids.size()) / seconds.count());
  return kExitOk;
}

}  // namespace lanner::cli
