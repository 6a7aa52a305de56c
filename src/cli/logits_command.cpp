// SPDX-License-Identifier: MIT
#include "cli/logits_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/progress_bar.h"
#include "cli/token_ids.h"
#include "cli/validators.h"
#include "device/cuda.h"
#include "engine/adapter_fault.h"
#include "engine/logits_dump.h"
#include "engine/text_parts.h"
#include "io/message_text.h"
#include "models/model_registry.h"

namespace lanner::cli {

void declare_logits(CLI::App& app, LogitsOptions& options) {
  add_required_folder(app, options.model);
  CLI::Option* ids = add_token_ids(app, "--ids", options.ids, "token ids, separated by commas");
  add_prompt_options(app, options.prompt);
  for (const char* name : {"--prompt", "--file"}) app.get_option(name)->excludes(ids);
  app.add_option("-o,--output", options.output, "safetensors file to write")
      ->required()
      ->type_name("FILE")
      ->check(not_empty());
  app.add_flag("--hidden", options.hidden,
               "also write hidden.0 (the embedding), hidden.1 ... (after each layer) and final_norm");
  app.add_option("--chunk", options.chunk, "tokens of one forward pass (default: 512); changes no result")
      ->type_name("N")
      ->check(whole_between(1, 1 << 16));
  add_adapter_option(app, options.adapters, "what they add to the model is added up");
  add_machine_options(app, options.model);
  set_examples(app,
               "  lanner logits FOLDER --ids 2,17,99 -o out.safetensors\n"
               "  lanner logits FOLDER -p \"Hello\" -o out.safetensors --hidden --chunk 1\n");
}

int logits_command(const LogitsOptions& options, Console& console) {
  const std::filesystem::path folder = options.model.find_folder();
  const std::optional<int> card = options.model.cuda_card();
  const device::Ops ops = card ? device::cuda_ops(*card)
                               : device::cpu_ops(options.model.instruction_set(), options.model.arithmetic());
  const io::Checkpoint checkpoint(folder);
  std::vector<TokenId> ids = options.ids;
  if (ids.empty()) ids = engine::TextParts(folder).encode_plain(read_prompt(options.prompt, console));
  device::Stream stream(ops, options.model.thread_count());
  const auto model = models::load_model(
      checkpoint, {.ops = ops, .compute = options.model.arithmetic(), .pool = stream.pool()});
  const auto adapters = read_adapters(options.adapters, *model, ops, console);
  const InterruptWatch watch(WatchedSignals::kAnyEnding);
  ProgressBar bar(console, "logits");
  const engine::LogitsDumpRequest request{
      .ids = ids,
      .chunk = options.chunk,
      .hidden = options.hidden ? engine::HiddenStates::kAll : engine::HiddenStates::kNone,
      .adapters = adapters ? &adapters->lora : nullptr,
      .progress = [&](std::size_t done, std::size_t total) {
        watch.check();
        bar.update(done, total);
      }};
  engine::blaming(adapters.get(), [&] { engine::dump_logits(*model, ops, stream, request, options.output); });
  bar.clear();
  console.log << fmt::format("{}: {} tokens, {}\n", io::printable(options.output), ids.size(),
                             io::readable_size(std::filesystem::file_size(options.output)));
  return kExitOk;
}

}  // namespace lanner::cli
