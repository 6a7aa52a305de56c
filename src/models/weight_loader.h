// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/buffer.h"
#include "device/matrix.h"
#include "io/checkpoint.h"
#include "layers/linear.h"
#include "models/load_target.h"
#include "models/quantization_config.h"

namespace lanner::models {

/// One weight as `info` reports it.
struct ModuleFacts {
  std::string path;  ///< without family prefix: "layers.3.mlp.down_proj"
  device::WeightSpec spec;
  std::size_t parameters = 0;
  std::size_t size_bytes = 0;
};

/// Where the bytes of a model's weights are. Those that a GPU holds count as owned.
struct WeightMemory {
  std::size_t owned_bytes = 0;   ///< memory of the model's own: interleaved matrices, gains, copies
  std::size_t mapped_bytes = 0;  ///< parts of the files that products read in every step
  std::size_t lookup_bytes = 0;  ///< parts of the files of which a step reads a few rows
};

/// Small float weights (norm gains, scalars, convolutions) owned by a model.
using WeightStorage = std::vector<Buffer>;

/// Gives a family's weights.cpp the tensors of a checkpoint under canonical paths: it hides the naming worlds
/// (HF and MLX), decides dense or quantized per module from the tensors, checks them against config.json, and
/// remembers what was used. On the CPU matrices stay where the checkpoint is mapped.
class WeightLoader {
 public:
  /// Finds the prefix of the text model. Throws Error kCorrupt when no embedding table is there.
  WeightLoader(const io::Checkpoint& checkpoint, const LoadTarget& target, WeightStorage& storage);

  /// True when the text model has a tensor of this canonical name ("layers.0.mlp.experts.gate_up_proj").
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// True when the target routes and runs experts in one go.
  bool routes_experts() const { return target_.ops.routed_experts != nullptr; }
  /// The raw tensor, or nullptr. Does not count as use.
  const io::TensorEntry* find(std::string_view name) const;

  /// y = x Wᵀ with W [out, in] at `path`.weight, dense or quantized. `why` names the config fields behind the
  /// shape. Those of layers are targets of adapters.
  layers::Linear linear(std::string_view path, std::size_t out, std::size_t in, std::string_view why);
  /// The matrix as the file stores it, for look-ups.
  device::Matrix matrix(std::string_view path, std::size_t out, std::size_t in, std::string_view why);
  /// As matrix(), for a table of which a few rows a token are read: no read-ahead around them.
  device::Matrix sparse_table(std::string_view path, std::size_t out, std::size_t in, std::string_view why);
  /// Interleaves a matrix when the target computes in int8. The memory of the original is given back.
  device::Matrix for_products(device::Matrix matrix);
  /// Experts [E, out, in] stacked at `path` (with or without ".weight").
  std::vector<device::Matrix> experts(std::string_view path, std::size_t count, std::size_t out,
                                      std::size_t in, std::string_view why);
  /// Rows [begin, begin + out) of every expert of a stack [E, stacked_out, in]: half of a fused gate_up_proj.
  std::vector<device::Matrix> expert_rows(std::string_view path, std::size_t count, std::size_t stacked_out,
                                          std::size_t begin, std::size_t out, std::size_t in,
                                          std::string_view why);
  /// Experts stored one by one: prefix + ".E." + suffix, for E < count.
  std::vector<device::Matrix> separate_experts(std::string_view prefix, std::string_view suffix,
                                               std::size_t count, std::size_t out, std::size_t in,
                                               std::string_view why);
  /// A small weight of any float type, widened to float and multiplied or shifted by the caller. Owned by
  /// storage.
  Tensor floats(std::string_view name, const Shape& shape, std::string_view why);
  /// Float memory owned by storage.
  Tensor allocate(const Shape& shape);

  /// A small weight where the target's operations read it: itself on the CPU, a copy on a device.
  Tensor place(const Tensor& weight);

  /// Marks every tensor of a canonical prefix as known and unused ("layers.5.self_attn.k_proj.").
  void ignore(std::string_view prefix);
  /// Names of tensors neither used nor ignored, as the files spell them.
  std::vector<std::string> leftovers() const;
  std::vector<ModuleFacts> take_modules() { return std::move(modules_); }
  std::vector<layers::LinearTarget> take_targets() { return std::move(targets_); }
  const WeightMemory& memory() const { return memory_; }

 private:
  struct Triple {
    const io::TensorEntry* weight = nullptr;
    const io::TensorEntry* scales = nullptr;
    const io::TensorEntry* biases = nullptr;
  };

  using Owners = std::vector<std::shared_ptr<const void>>;

  const io::TensorEntry& use(std::string_view name);
  Triple find_module(std::string_view path);
  device::WeightSpec spec_of(const Triple& triple, std::string_view path, std::size_t in) const;
  device::WeightSpec quantized_spec(const Triple& triple, std::string_view path, std::size_t in) const;
  /// Bytes where the target reads them: mapped on the CPU, copied to a device.
  const void* place_bytes(const io::TensorEntry& entry, Owners& owners);
  device::Matrix find_matrix(std::string_view path, std::size_t out, std::size_t in, std::string_view why);
  /// The matrix in the form that the target's products take.
  device::Matrix bind(const device::WeightView& view, std::shared_ptr<const void> owner) const;
  device::WeightView view_of(const Triple& triple, const device::WeightSpec& spec, std::size_t rows,
                             std::size_t in, Owners& owners);
  void check_shapes(const Triple& triple, const device::WeightSpec& spec, const Shape& shape,
                    std::string_view why) const;
  /// body(file, part) for what `view` takes of mapped files.
  template <typename Body>
  void for_mapped_parts(const device::WeightView& view, Body&& body) const;
  using PagesFn = void (io::MappedFile::*)(std::span<const std::byte> part) const;
  void with_all_threads(const device::WeightView& view, PagesFn pages) const;
  bool is_on_host() const { return target_.ops.memory->kind() == DeviceKind::kCpu; }
  /// Notes a module that is in place, and says how far loading is.
  void record(std::string_view path, const device::WeightSpec& spec, std::size_t rows, std::size_t in);

  const io::Checkpoint& checkpoint_;
  LoadTarget target_;
  WeightStorage& storage_;
  QuantizationConfig quantization_;
  std::string prefix_;
  std::set<std::shared_ptr<const io::MappedFile>> files_;
  std::size_t total_bytes_ = 0;  ///< of the checkpoint's tensors
  std::size_t recorded_bytes_ = 0;
  std::set<std::string, std::less<>> used_;
  std::vector<ModuleFacts> modules_;
  std::vector<layers::LinearTarget> targets_;
  WeightMemory memory_;
  std::set<const void*> lookups_;  ///< tables among them that products may read too
};

}  // namespace lanner::models
