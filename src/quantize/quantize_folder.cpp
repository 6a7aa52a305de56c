// SPDX-License-Identifier: MIT
#include "quantize/quantize_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/thread_pool.h"
#include "io/checkpoint.h"
#include "io/safetensors_writer.h"
#include "io/weight_files.h"
#include "quantize/conversion_plan.h"
#include "quantize/output_folder.h"
#include "quantize/tensor_converter.h"

namespace lanner::quantize {
namespace {

constexpr int kJsonIndent = 4;

std::string shard_name(std::size_t index, std::size_t count) {
  if (count == 1) return "model.safetensors";
  return fmt::format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

io::Json block_of(const QuantFormat& format) { return {{"group_size", format.group}, {"bits", format.bits}}; }

/// config.json's `quantization`: the global format and the modules that deviate from it.
io::Json quantization_block(const ConversionPlan& plan) {
  io::Json block = block_of(plan.global);
  block["mode"] = name(plan.global.mode);
  for (const auto& [module, format] : plan.listed) {
    if (!format) {
      block[module] = false;
      continue;
    }
    block[module] = block_of(*format);
    if (format->mode != plan.global.mode) block[module]["mode"] = name(format->mode);
  }
  return block;
}

std::string output_config(const io::Checkpoint& checkpoint, const ConversionPlan& plan) {
  io::Json config = checkpoint.config();
  config["quantization"] = quantization_block(plan);
  config["quantization_config"] = config["quantization"];
  return config.dump(kJsonIndent) + "\n";
}

std::string output_index(const ConversionPlan& plan) {
  io::Json weight_map = io::Json::object();
  std::uint64_t parameters = 0;
  for (const PlannedTensor& tensor : plan.tensors) {
    parameters += static_cast<std::uint64_t>(tensor.target.shape.element_count());
    for (const io::TensorDeclaration& part : tensor.declarations())
      weight_map[part.name] = shard_name(tensor.shard, plan.shards);
  }
  const io::Json index = {{"metadata", {{"total_size", plan.output_bytes}, {"total_parameters", parameters}}},
                          {"weight_map", weight_map}};
  return index.dump(kJsonIndent) + "\n";
}

class FolderQuantizer {
 public:
  FolderQuantizer(const ConversionPlan& plan, const QuantizeProgressFn& progress, int threads)
      : plan_(plan), progress_(progress), threads_(threads), converter_(threads_) {}

  void write_shards(const OutputFolder& folder) {
    auto begin = plan_.tensors.begin();
    for (std::size_t shard = 0; shard < plan_.shards; ++shard) {
      const auto end = std::find_if(begin, plan_.tensors.end(),
                                    [&](const PlannedTensor& tensor) { return tensor.shard != shard; });
      write_shard(folder.file(shard_name(shard, plan_.shards)), {begin, end});
      begin = end;
    }
  }

 private:
  void write_shard(const std::filesystem::path& path, std::span<const PlannedTensor> tensors) {
    std::vector<io::TensorDeclaration> declarations;
    for (const PlannedTensor& tensor : tensors)
      for (io::TensorDeclaration& part : tensor.declarations()) declarations.push_back(std::move(part));
    io::SafetensorsWriter writer(path, declarations, {{"format", "mlx"}});
    for (const PlannedTensor& tensor : tensors) {
      report(tensor.target.name);
      converter_.convert(tensor, writer, [&](std::size_t bytes) {
        done_bytes_ += bytes;
        report(tensor.target.name);
      });
    }
    writer.finish();
  }

  void report(const std::string& tensor) const {
    if (progress_) progress_({done_bytes_, plan_.source_bytes, tensor});
  }

  const ConversionPlan& plan_;
  const QuantizeProgressFn& progress_;
  ThreadPool threads_;
  TensorConverter converter_;
  std::uint64_t done_bytes_ = 0;
};

QuantizeReport summarize(const ConversionPlan& plan) {
  QuantizeReport report;
  report.source_bytes = plan.source_bytes;
  report.output_bytes = plan.output_bytes;
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.module.empty()) continue;
    report.module_elements += static_cast<std::uint64_t>(tensor.target.shape.element_count());
    report.module_bytes += tensor.output_bytes();
    ++report.formats[tensor.format ? to_string(*tensor.format) : std::string(lanner::name(tensor.dtype))];
    if (!tensor.format) report.kept_dense.push_back(tensor.module);
  }
  return report;
}

}  // namespace

QuantizeReport quantize_folder(const QuantizeOptions& options, const QuantizeProgressFn& progress) {
  if (options.threads < 1 || options.max_shard_bytes == 0)
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} threads and shards of {} bytes were asked for, expected at least 1 of each",
                            options.threads, options.max_shard_bytes));
  const io::Checkpoint checkpoint(options.input);
  const ConversionPlan plan =
      plan_conversion(checkpoint, BitRules(options.format, options.overrides), options.max_shard_bytes);
  OutputFolder folder(options.output, options.input);
  folder.require_space(plan.output_bytes);

  QuantizeReport report = summarize(plan);
  FolderQuantizer(plan, progress, options.threads).write_shards(folder);
  io::write_text_file(folder.file("config.json"), output_config(checkpoint, plan));
  io::write_text_file(folder.file(std::string(io::kIndexFileName)), output_index(plan));
  report.files = carried_files(options.input);
  for (const std::string& name : report.files) carry_file(options.input / name, folder.file(name));
  for (std::size_t shard = 0; shard < plan.shards; ++shard)
    report.files.push_back(shard_name(shard, plan.shards));
  report.files.insert(report.files.end(), {"config.json", std::string(io::kIndexFileName)});
  std::ranges::sort(report.files);
  folder.publish();
  return report;
}

}  // namespace lanner::quantize
