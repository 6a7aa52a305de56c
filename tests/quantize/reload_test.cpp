// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "core/arena.h"
#include "io/checkpoint.h"
#include "io/safetensors_file.h"
#include "io/safetensors_writer.h"
#include "io/temporary_folder.h"
#include "kernels/linear/linear.h"
#include "models/model_registry.h"
#include "quantize/quantize_folder.h"

namespace lanner::quantize {
namespace {

namespace fs = std::filesystem;

std::vector<float> logits_of(const fs::path& folder) {
  const Isa isa = detect_isa();
  const io::Checkpoint checkpoint(folder);
  const device::Ops ops = device::cpu_ops(isa);
  device::Stream stream(device::cpu_kernels(isa), 2);
  const auto model = models::load_model(checkpoint, {.ops = ops, .pool = stream.pool()});
  cache::SequenceCache cache({.layers = model->cache_layers(), .kv_type = device::KvType::kF32});
  Arena arena;
  std::vector<TokenId> ids(80);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(5 + i * 37 % 290);
  std::vector<std::int32_t> wanted(ids.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  const layers::Group group{.cache = &cache, .ids = ids, .wanted = wanted};
  layers::Step step(ops, stream, arena, {&group, 1});
  const Tensor out = model->logits(step, model->forward(step));
  return {out.floats().begin(), out.floats().end()};
}

/// Writes the same folder with every quantized module as the float matrix it stands for.
void write_dequantized(const fs::path& from, const fs::path& to, int bits) {
  const io::SafetensorsFile file(from / "model.safetensors");
  std::vector<io::TensorDeclaration> declarations;
  std::vector<std::vector<float>> matrices;
  const auto is_module = [&](const io::TensorEntry& entry) {
    return entry.name.ends_with(".weight") &&
           file.find(entry.name.substr(0, entry.name.size() - 6) + "scales") != nullptr;
  };
  const auto is_table = [](const io::TensorEntry& entry) {
    return entry.name.ends_with(".scales") || entry.name.ends_with(".biases");
  };
  for (const io::TensorEntry& entry : file.tensors()) {
    if (is_table(entry)) continue;
    if (!is_module(entry)) {
      declarations.push_back({entry.name, entry.dtype, entry.shape});
      continue;
    }
    std::vector<std::int64_t> extents(entry.shape.extents().begin(), entry.shape.extents().end());
    const io::TensorEntry& scales = file.require(entry.name.substr(0, entry.name.size() - 6) + "scales");
    // Routers keep 8 bits in groups of 64 whatever was asked for; both follow from the shapes.
    const bool router = entry.name.find("router.proj") != std::string::npos ||
                        entry.name.ends_with("mlp.gate.weight") ||
                        entry.name.find("shared_expert_gate") != std::string::npos;
    const int module_bits = router ? 8 : bits;
    extents.back() = entry.shape.back() * 32 / module_bits;
    declarations.push_back({entry.name, DType::kF32, Shape(extents)});
    const auto columns = static_cast<std::size_t>(extents.back());
    const auto rows = static_cast<std::size_t>(declarations.back().shape.element_count()) / columns;
    const io::HeldTensor codes = io::load_tensor(entry);
    const io::HeldTensor held_scales = io::load_tensor(scales);
    const io::HeldTensor biases =
        io::load_tensor(file.require(entry.name.substr(0, entry.name.size() - 6) + "biases"));
    const kernels::WeightView view{.spec = {kernels::WeightFormat::kAffine, scales.dtype, module_bits,
                                            static_cast<int>(extents.back() / scales.shape.back())},
                                   .rows = rows,
                                   .columns = columns,
                                   .data = codes.tensor.data,
                                   .scales = held_scales.tensor.data,
                                   .biases = biases.tensor.data};
    const auto kernel = kernels::find_linear_kernels(view.spec, detect_isa());
    REQUIRE(kernel.has_value());
    matrices.emplace_back(rows * columns);
    for (std::size_t row = 0; row < rows; ++row)
      kernel->dequantize_row(matrices.back().data() + row * columns, view, row);
  }
  io::SafetensorsWriter writer(to / "model.safetensors", declarations, {{"format", "mlx"}});
  std::size_t next = 0;
  for (const io::TensorEntry& entry : file.tensors()) {
    if (is_table(entry)) continue;
    if (is_module(entry))
      writer.append_values<float>(entry.name, matrices[next++]);
    else
      writer.append(entry.name, entry.bytes);
  }
  writer.finish();
  io::Json config = io::load_json(from / "config.json");
  config.erase("quantization");
  config.erase("quantization_config");
  io::write_text_file(to / "config.json", config.dump());
}

}  // namespace

TEST_CASE("a quantized folder gives the logits of the weights it stands for, bit for bit, in every width") {
  for (const char* fixture : {"gemma4/g1_e_ple_kvshare", "gemma4/g3_moe", "qwen3_5/q3_moe"})
    for (int bits : {2, 3, 4, 5, 6, 8}) {
      CAPTURE(fixture);
      CAPTURE(bits);
      const io::TemporaryFolder folder;
      const fs::path source = fs::path(LANNER_GOLDEN_DIR) / "models" / fixture;
      QuantizeOptions options;
      options.input = source;
      options.output = folder.path() / "quantized";
      options.format.bits = bits;
      options.format.group = 32;
      quantize_folder(options);
      fs::create_directory(folder.path() / "dense");
      write_dequantized(options.output, folder.path() / "dense", bits);
      const auto quantized = logits_of(options.output);
      CHECK(quantized == logits_of(options.output));
      CHECK(quantized == logits_of(folder.path() / "dense"));
    }
}

}  // namespace lanner::quantize
