// SPDX-License-Identifier: MIT
#include "cli/info_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "cli/exit_code.h"
#include "cli/info_text.h"
#include "cli/waiting_line.h"
#include "device/cuda.h"
#include "engine/generation_defaults.h"
#include "engine/model_report.h"
#include "engine/text_parts.h"
#include "io/message_text.h"
#include "models/model_registry.h"

namespace lanner::cli {
namespace {

io::Json layer_facts(const engine::LayerKinds& kinds) {
  return {{"count", kinds.all()},
          {"full_attention", kinds.full},
          {"sliding_attention", kinds.sliding},
          {"delta_net", kinds.recurrent},
          {"full_attention_sharing_kv", kinds.shared_full},
          {"sliding_attention_sharing_kv", kinds.shared_sliding},
          {"sliding_window", kinds.window}};
}

io::Json cache_facts(const std::vector<cache::LayerSpec>& layers) {
  const engine::SequenceBytes bytes = engine::sequence_bytes(layers, sizeof(std::uint16_t));
  const std::size_t window = engine::layer_kinds(layers).window;
  return {{"element", "bf16"},
          {"bytes_per_token", bytes.per_token},
          {"sliding_bytes_per_token", bytes.sliding_per_token},
          {"sliding_bytes_full", bytes.sliding_per_token * window},
          {"state_bytes", bytes.fixed}};
}

io::Json weight_facts(const models::ModelFacts& facts) {
  io::Json groups = io::Json::array();
  for (const engine::WeightGroup& group : engine::weight_groups(facts))
    groups.push_back({{"group", group.name},
                      {"format", group.format},
                      {"tensors", group.tensors},
                      {"parameters", group.parameters},
                      {"bytes", group.size_bytes}});
  return groups;
}

io::Json token_list(const text::Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  io::Json list = io::Json::array();
  for (TokenId id : ids) list.push_back({{"id", id}, {"text", tokenizer.token_text(id)}});
  return list;
}

io::Json template_facts(const text::ChatTemplateFacts& facts) {
  return {{"tools", facts.uses_tools},
          {"system", facts.uses_system},
          {"thinking_switch", facts.has_thinking_switch},
          {"thinks_by_default", facts.thinks_by_default}};
}

io::Json text_facts(const io::Checkpoint& checkpoint) {
  if (!checkpoint.find_file("tokenizer.json")) return nullptr;
  const engine::TextParts parts(checkpoint.folder());
  const text::Tokenizer& tokenizer = parts.tokenizer();
  const engine::GenerationDefaults defaults = engine::read_generation_defaults(checkpoint, tokenizer);
  std::vector<TokenId> special;
  for (const text::AddedToken& token : tokenizer.added_tokens())
    if (token.special) special.push_back(token.id);
  io::Json facts{{"tokens", tokenizer.vocab_size()},
                 {"stop_tokens", token_list(tokenizer, defaults.stop_ids)},
                 {"special_tokens", token_list(tokenizer, special)},
                 {"suppressed_tokens", token_list(tokenizer, defaults.suppressed)},
                 {"sampling",
                  {{"temperature", defaults.sampling.temperature},
                   {"top_k", defaults.sampling.top_k},
                   {"top_p", defaults.sampling.top_p},
                   {"min_p", defaults.sampling.min_p},
                   {"repetition_penalty", defaults.sampling.repetition_penalty}}},
                 {"chat_template", nullptr}};
  if (parts.has_chat_template()) facts["chat_template"] = template_facts(parts.chat_template().facts());
  return facts;
}

io::Json gpu_facts() {
  io::Json gpus = io::Json::array();
  for (const device::CudaCard& card : device::cuda_cards())
    gpus.push_back({{"device", fmt::format("cuda:{}", card.index)},
                    {"name", card.name},
                    {"compute_capability",
                     fmt::format("{}.{}", card.compute_capability / 10, card.compute_capability % 10)},
                    {"memory_bytes", card.total_bytes},
                    {"free_bytes", card.free_bytes}});
  return gpus;
}

io::Json model_facts(const io::Checkpoint& checkpoint, const models::Model& model, const device::Ops& ops) {
  const models::ModelFacts& facts = model.facts();
  std::size_t parameters = 0;
  std::size_t bytes = 0;
  for (const models::ModuleFacts& module : facts.modules) {
    parameters += module.parameters;
    bytes += module.size_bytes;
  }
  io::Json isas = io::Json::array();
  for (Isa isa : supported_isas()) isas.push_back(name(isa));
  return {{"folder", checkpoint.folder().string()},
          {"family", facts.family},
          {"model_type", facts.model_type},
          {"parameters", parameters},
          {"text_model_bytes", bytes},
          {"files", checkpoint.weight_files()},
          {"file_bytes", checkpoint.tensor_bytes()},
          {"hidden_size", facts.hidden_size},
          {"vocabulary", facts.vocabulary},
          {"context", facts.context},
          {"tied_head", facts.tied_head},
          {"experts", facts.experts},
          {"experts_per_token", facts.experts_per_token},
          {"layers", layer_facts(engine::layer_kinds(model.cache_layers()))},
          {"weights", weight_facts(facts)},
          {"cache", cache_facts(model.cache_layers())},
          {"text", text_facts(checkpoint)},
          {"kernels", ops.device},
          {"instruction_sets", isas},
          {"gpus", gpu_facts()},
          {"not_run", facts.unused_parts},
          {"side_files", checkpoint.side_files()}};
}

}  // namespace

void declare_info(CLI::App& app, InfoOptions& options) {
  add_folder(app, options.model);
  app.add_flag("--json", options.json, "one JSON object");
  add_machine_options(app, options.model);
  set_examples(app,
               "  lanner info FOLDER\n"
               "  lanner info org/name --json\n");
}

int info_command(const InfoOptions& options, Console& console) {
  const std::filesystem::path folder = options.model.find_folder();
  io::Json facts;
  {
    const WaitingLine line(console, "reading " + io::printable(folder.native()));
    const device::Ops ops = device::cpu_ops(options.model.instruction_set());
    const io::Checkpoint checkpoint(folder);
    ThreadPool pool(1);
    facts = model_facts(checkpoint, *models::load_model(checkpoint, {.ops = ops, .pool = pool}), ops);
  }
  console.out << (options.json ? facts.dump(2) + '\n' : info_text(facts));
  return kExitOk;
}

}  // namespace lanner::cli
