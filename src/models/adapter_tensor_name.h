// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lanner::models {

/// What a tensor of an adapter file is of its module.
enum class AdapterPart : std::uint8_t {
  kA,          ///< the factor that reads the input
  kB,          ///< the factor that writes the output
  kMagnitude,  ///< DoRA's
};

/// How a file lays factors out: PEFT a [R, in] and b [out, R], MLX a [in, R] and b [R, out].
enum class FactorLayout : std::uint8_t { kPeft, kMlx };

/// The name of a tensor in an adapter file, taken apart.
struct AdapterTensorName {
  std::string path;    ///< "layers.3.self_attn.q_proj"
  std::string module;  ///< the same as the file's config names it: "model.layers.3.self_attn.q_proj"
  AdapterPart part = AdapterPart::kA;
  FactorLayout layout = FactorLayout::kPeft;

  /// True for stacks of routed experts, in either naming world.
  bool is_of_experts() const;
};

/// Reads the names that PEFT and mlx-lm write, with any of the prefixes by which checkpoint classes nest the
/// text model, and with an adapter's name behind the factor's; nothing for other names.
std::optional<AdapterTensorName> parse_adapter_tensor_name(std::string_view name);

}  // namespace lanner::models
