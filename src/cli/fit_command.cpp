// SPDX-License-Identifier: MIT
#include "cli/fit_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"
#include "cli/machine_limits.h"
#include "cli/validators.h"
#include "core/error.h"
#include "core/planned_memory.h"
#include "device/cuda.h"
#include "device/plan_ops.h"
#include "engine/fit_report.h"
#include "engine/loaded_model.h"
#include "engine/predicted_speed.h"
#include "engine/prefix_key.h"
#include "io/message_text.h"
#include "models/model_registry.h"
#include "text/tokenizer.h"

namespace lanner::cli {
namespace {

constexpr double kGigabyte = 1e9;

std::size_t context_asked(const FitOptions& options, std::size_t most) {
  const std::size_t asked = options.context.value_or(most);
  if (asked > most)
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("--ctx is {}, the model's context holds {} (max_position_embeddings in config.json)",
                    asked, most));
  return asked;
}

/// What a process that runs the model holds in main memory beside the plan.
std::size_t program_bytes(const io::Checkpoint& checkpoint) {
  // Code, libraries, stacks, template and small tables: 8 to 12 MB, measured.
  constexpr std::size_t kCode = 12'000'000;
  const auto tokenizer = checkpoint.find_file("tokenizer.json");
  return kCode + (tokenizer ? text::Tokenizer::load(*tokenizer).memory_bytes() : 0);
}

std::string fit_line(std::string_view label, const std::string& value) {
  return fmt::format("{:<15} {}\n", label, value);
}

std::string size_at(const io::Json& facts, const char* pointer) {
  return io::readable_size(facts.at(io::Json::json_pointer(pointer)).get<std::uint64_t>());
}

std::size_t count_at(const io::Json& facts, const char* pointer) {
  return facts.at(io::Json::json_pointer(pointer)).get<std::size_t>();
}

std::string sequence_text(const io::Json& facts) {
  std::string text = size_at(facts, "/sequence/bytes");
  const auto part = [&](const char* field, const std::string& what) {
    if (const auto bytes = facts["sequence"][field].get<double>(); bytes > 0)
      text += fmt::format("; {}{}", io::readable_size(static_cast<std::uint64_t>(bytes)), what);
  };
  part("full_bytes_per_token", " per token");
  part("sliding_bytes_per_token",
       fmt::format(" per token of the last {}", count_at(facts, "/sequence/sliding_window")));
  part("state_bytes", " of recurrent state");
  return text + " (" + facts["kv_types"].get<std::string>() + ")";
}

std::string speed_text(const io::Json& speed) {
  if (speed.is_null()) return "unknown; lanner bench --roofline measures this machine once";
  return fmt::format("{:.1f} tok/s of answers, {:.0f} tok/s of prompts (predicted)",
                     speed["decode"].get<double>(), speed["prompt"].get<double>());
}

std::string fit_text(const io::Json& facts) {
  const bool fits = facts["fits"].get<bool>();
  const std::size_t users = count_at(facts, "/users");
  std::string text =
      fit_line("fits", fmt::format("{}: {} of {} for {} user{} with {} tokens each", fits ? "yes" : "no",
                                   size_at(facts, "/total_bytes"), size_at(facts, "/budget_bytes"), users,
                                   users == 1 ? "" : "s", count_at(facts, "/tokens")));
  text += fit_line("weights", size_at(facts, "/weights/resident_bytes") +
                                  fmt::format(" ({}), beside them {} in files for look-ups",
                                              facts["compute"].get<std::string>(),
                                              size_at(facts, "/weights/lookup_bytes")));
  if (facts["program_bytes"] > 0)
    text += fit_line("program", size_at(facts, "/program_bytes") + " with its tokenizer");
  text += fit_line("each user", sequence_text(facts));
  text += fit_line("a snapshot", size_at(facts, "/sequence/checkpoint_bytes") + " beside what it shares");
  text += fit_line("a step",
                   fmt::format("{} of scratch, {} of sliding layers", size_at(facts, "/step/workspace_bytes"),
                               size_at(facts, "/step/sliding_bytes")));
  text += fit_line("prefix cache", "up to " + size_at(facts, "/prefix_cache_bytes"));
  text += fit_line("most context", fmt::format("{} tokens", count_at(facts, "/max_context")));
  text += fit_line("most users", fmt::format("{}", count_at(facts, "/max_users")));
  return text + fit_line("speed", speed_text(facts["speed"]));
}

}  // namespace

void declare_fit(CLI::App& app, FitOptions& options) {
  add_folder(app, options.model);
  app.add_option("--ctx", options.context, "tokens of each user (default: all that the model allows)")
      ->type_name("N")
      ->check(whole_between(1, std::int64_t{1} << 40));
  app.add_option("--users", options.users, "sequences at once (default: 1)")
      ->type_name("S")
      ->check(whole_between(1, 1 << 20));
  app.add_option("--budget", options.budget_gb,
                 "memory in GB of 10^9 bytes (default: 85 % of what the machine has left, 95 % of a GPU's)")
      ->type_name("GB")
      ->check(number_between(0.001, 1e6));
  app.add_option("--step-tokens", options.step_tokens,
                 "tokens of one forward pass, as serve's --max-step-tokens (default: 512)")
      ->type_name("N")
      ->check(whole_between(64, 1 << 20));
  app.add_flag("--json", options.json, "one JSON object");
  add_machine_options(app, options.model);
  add_kv_option(app, options.model, "as kv_config.json says, else bf16");
  set_examples(app,
               "  lanner fit FOLDER --ctx 32768 --users 4\n"
               "  lanner fit FOLDER --budget 16 --kv-type q8 --json\n");
}

int fit_command(const FitOptions& options, Console& console) {
  const io::Checkpoint checkpoint(options.model.find_folder());
  const std::optional<int> card = options.model.cuda_card();
  const device::Ops target =
      card ? device::cuda_ops(*card)
           : device::cpu_ops(options.model.instruction_set(), options.model.arithmetic());
  PlannedMemory planned(target.memory->kind());
  const device::Ops ops = card ? device::plan_ops(target, planned) : target;
  const device::Compute compute = options.model.arithmetic();
  const int threads = options.model.thread_count();
  ThreadPool pool(1);
  const std::unique_ptr<models::Model> model = models::load_model(
      checkpoint, {.ops = ops, .compute = compute, .pool = pool, .use = models::WeightUse::kPlan});
  const cache::CacheSpec spec = engine::cache_spec(checkpoint, *model, options.model.kv_type);
  const std::size_t tokens = context_asked(options, model->facts().context);
  const engine::MemoryPlan plan(
      *model, ops, spec,
      {.rows = options.step_tokens, .wanted = options.users, .context = tokens, .threads = threads});
  io::Json facts = engine::fit_facts(
      plan, {.users = options.users,
             .tokens = tokens,
             .context = model->facts().context,
             .budget_bytes = options.budget_gb ? static_cast<std::size_t>(*options.budget_gb * kGigabyte)
                                               : engine::usable_bytes(target),
             .program_bytes = card ? 0 : program_bytes(checkpoint)});
  facts["folder"] = checkpoint.folder().string();
  facts["kv_types"] = engine::kv_types_name(spec);
  facts["device"] = target.device;
  facts["compute"] = device::name(compute);
  facts["threads"] = threads;
  facts["speed"] = nullptr;
  if (options.limits && !card)
    if (const auto limits = read_machine_limits(*options.limits, {ops.isa, threads})) {
      const engine::PredictedSpeed speed = engine::predict_speed(*model, spec, *limits,
                                                                 {.users = options.users,
                                                                  .tokens = tokens,
                                                                  .chunk = options.step_tokens,
                                                                  .compute = compute,
                                                                  .isa = ops.isa});
      facts["speed"] = {{"decode", speed.decode}, {"prompt", speed.prompt}};
    }
  console.out << (options.json ? facts.dump(2) + '\n' : fit_text(facts));
  return kExitOk;
}

}  // namespace lanner::cli
