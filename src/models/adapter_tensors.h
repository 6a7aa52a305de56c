// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/safetensors_file.h"
#include "models/adapter_tensor_name.h"
#include "models/model.h"

namespace lanner::models {

/// A factor as the file has it.
struct StoredFactor {
  const io::TensorEntry* entry = nullptr;
  FactorLayout layout = FactorLayout::kPeft;
};

/// What the file has for one target.
struct StoredModule {
  std::string module;  ///< as the config names it
  StoredFactor a;
  StoredFactor b;
};

/// An adapter file's tensors, sorted by the target of the model that they belong to.
class AdapterTensors {
 public:
  /// Throws Error kUnsupported for DoRA and routed experts, kCorrupt for names that are no factors of the
  /// model's targets, naming some of both. The file must outlive it.
  AdapterTensors(const io::SafetensorsFile& file, const Model& model);

  /// By the targets' indices.
  const std::map<std::size_t, StoredModule>& modules() const { return modules_; }
  /// Names of factors that the model has no use for.
  const std::vector<std::string>& unused() const { return unused_; }

 private:
  void add(const io::TensorEntry& entry);
  void refuse_unmatched(const io::SafetensorsFile& file) const;

  const Model& model_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::size_t, StoredModule> modules_;
  std::vector<std::string> unmatched_;
  std::vector<std::string> unused_;
};

/// Facts of a module's factors.
struct CheckedModule {
  std::size_t rank = 0;
  float largest_a = 0;  ///< magnitude
  float largest_b = 0;
};

/// Throws Error kCorrupt for a factor that is missing, has another shape than the target's or holds numbers
/// that are not finite, kUnsupported for types that are not F32, F16 or BF16.
CheckedModule check_module(const StoredModule& stored, const layers::LinearTarget& target);

/// Throws Error kCorrupt when scale * b a may be too large for a float.
void check_addition(const StoredModule& stored, const CheckedModule& module, float scale);

/// "layers.3.mlp.down_proj" → 3, "mlp.down_proj"
std::pair<std::size_t, std::string> split_layer(const std::string& path);

/// The names in quotes, not more than a message holds.
std::string some_of(const std::vector<std::string>& names);

}  // namespace lanner::models
