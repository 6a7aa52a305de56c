// SPDX-License-Identifier: MIT
#include "synthetic/synthetic_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "io/atomic_file.h"
#include "io/fields.h"
#include "io/message_text.h"
#include "io/weight_files.h"
#include "quantize/bit_rules.h"
#include "quantize/output_folder.h"
#include "synthetic/tensor_filler.h"

namespace lanner::synthetic {
namespace {

constexpr int kJsonIndent = 4;

struct Plan {
  std::vector<PlannedTensor> tensors;
  std::map<std::string, std::optional<quantize::QuantFormat>> listed;
  SyntheticReport report;
};

Plan make_plan(const SyntheticOptions& options) {
  quantize::BitRules rules(options.format.value_or(quantize::QuantFormat()), {});
  Plan plan;
  std::uint64_t shard_bytes = 0;
  for (SyntheticTensor& tensor :
       is_gemma4(options.config) ? gemma4_tensors(options.config) : qwen3_5_tensors(options.config)) {
    PlannedTensor planned{.tensor = std::move(tensor), .format = std::nullopt, .shard = plan.report.shards};
    if (options.format && !planned.tensor.module.empty()) {
      const auto columns = static_cast<std::size_t>(planned.tensor.shape.back());
      const quantize::ModuleFormat format = rules.format_of(planned.tensor.module, columns);
      planned.format = format.format;
      if (format.listed) plan.listed[planned.tensor.module] = format.format;
    }
    const std::uint64_t bytes = planned.size_bytes();
    if (shard_bytes != 0 && shard_bytes + bytes > options.max_shard_bytes) {
      planned.shard = ++plan.report.shards;
      shard_bytes = 0;
    }
    shard_bytes += bytes;
    plan.report.size_bytes += bytes;
    plan.report.parameters += static_cast<std::uint64_t>(planned.tensor.shape.element_count());
    plan.tensors.push_back(std::move(planned));
  }
  ++plan.report.shards;
  return plan;
}

std::string shard_name(std::size_t index, std::size_t count) {
  if (count == 1) return "model.safetensors";
  return fmt::format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

std::string config_text(const SyntheticOptions& options, const Plan& plan) {
  io::Json config = options.config;
  // Only the text model is written.
  for (const char* part : {"vision_config", "audio_config"})
    if (config.contains(part)) config[part] = nullptr;
  if (!options.format) {
    config.erase("quantization");
    config.erase("quantization_config");
    return config.dump(kJsonIndent) + "\n";
  }
  io::Json block = {{"group_size", options.format->group},
                    {"bits", options.format->bits},
                    {"mode", name(options.format->mode)}};
  for (const auto& [module, format] : plan.listed) {
    if (!format) {
      block[module] = false;
      continue;
    }
    block[module] = {{"group_size", format->group}, {"bits", format->bits}};
    if (format->mode != options.format->mode) block[module]["mode"] = name(format->mode);
  }
  config["quantization"] = block;
  config["quantization_config"] = block;
  return config.dump(kJsonIndent) + "\n";
}

std::string index_text(const Plan& plan) {
  io::Json weight_map = io::Json::object();
  for (const PlannedTensor& planned : plan.tensors)
    for (const io::TensorDeclaration& part : planned.declarations())
      weight_map[part.name] = shard_name(planned.shard, plan.report.shards);
  const io::Json index = {
      {"metadata", {{"total_size", plan.report.size_bytes}, {"total_parameters", plan.report.parameters}}},
      {"weight_map", weight_map}};
  return index.dump(kJsonIndent) + "\n";
}

std::string card_text(const SyntheticOptions& options) {
  return fmt::format(
      "---\ntags:\n- synthetic\n---\n"
      "# {} (synthetic)\n\n"
      "**Random weights.** This folder has the text model's tensors of that size, with their names, shapes "
      "and "
      "storage ({}), filled with random numbers (seed {}). It is for benchmarks "
      "and load tests only: it knows nothing and answers nonsense. Tokenizer and chat template are those of "
      "a "
      "very small model of the same family, so most ids of the vocabulary have no text.\n\n"
      "Written by `lanner synth`.\n",
      io::printable(options.name), options.format ? to_string(*options.format) : "bf16", options.seed);
}

void write_shards(const Plan& plan, const SyntheticOptions& options, const quantize::OutputFolder& folder,
                  const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  TensorFiller filler(options.seed);
  std::uint64_t done = 0;
  auto begin = plan.tensors.begin();
  for (std::size_t shard = 0; shard < plan.report.shards; ++shard) {
    const auto end =
        std::find_if(begin, plan.tensors.end(), [&](const PlannedTensor& t) { return t.shard != shard; });
    std::vector<io::TensorDeclaration> declarations;
    for (auto it = begin; it != end; ++it)
      for (io::TensorDeclaration& part : it->declarations()) declarations.push_back(std::move(part));
    io::SafetensorsWriter writer(folder.file(shard_name(shard, plan.report.shards)), declarations,
                                 {{"format", "mlx"}});
    for (; begin != end; ++begin) {
      filler.fill(*begin, writer);
      done += begin->size_bytes();
      if (progress) progress(done, plan.report.size_bytes);
    }
    writer.finish();
  }
}

}  // namespace

bool is_gemma4(const io::Json& config) {
  const std::string type = io::Fields(config, "config.json").required_string("model_type");
  if (type.starts_with("gemma4") && !type.ends_with("assistant")) return true;
  if (type.starts_with("qwen3_5")) return false;
  throw Error(ErrorKind::kUnsupported,
              fmt::format("config.json: model_type is {}, expected a Gemma 4 or Qwen 3.5 language model",
                          io::in_quotes(type)));
}

SyntheticReport write_synthetic_folder(const SyntheticOptions& options,
                                       const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  const Plan plan = make_plan(options);
  quantize::OutputFolder folder(options.output, options.text_parts);
  folder.require_space(plan.report.size_bytes);
  write_shards(plan, options, folder, progress);
  for (const std::string& name : quantize::carried_files(options.text_parts))
    if (!name.ends_with(".md") && !name.ends_with(".safetensors"))
      quantize::carry_file(options.text_parts / name, folder.file(name));
  io::write_text_file(folder.file("config.json"), config_text(options, plan));
  io::write_text_file(folder.file(std::string(io::kIndexFileName)), index_text(plan));
  io::write_text_file(folder.file("README.md"), card_text(options));
  folder.publish();
  return plan.report;
}

}  // namespace lanner::synthetic
