// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/float_convert.h"
#include "io/safetensors_writer.h"
#include "layers/lora.h"
#include "random.h"

namespace lanner::test {

/// Which program an adapter looks as if it came from.
enum class AdapterForm : std::uint8_t { kPeft, kMlx };

/// A random adapter of visible effect for the linears of a model.
struct AdapterRecipe {
  std::uint64_t seed = 1;
  std::size_t rank = 4;
  double alpha = 8;        ///< PEFT: over the rank; MLX: the scale is alpha / rank
  float strength = 0.15F;  ///< of b
  AdapterForm form = AdapterForm::kPeft;
  std::string prefix = "base_model.model.model.language_model.";  ///< of PEFT names
  std::function<bool(const layers::LinearTarget&)> wants = [](const auto&) { return true; };
  nlohmann::json config = nlohmann::json::object();  ///< more fields of adapter_config.json
};

/// The factors of one target: a [R, in] and b [out, R].
struct RandomFactors {
  std::vector<float> a;
  std::vector<float> b;
};

/// A pure function of the recipe's seed and the target's place.
inline RandomFactors random_factors(const AdapterRecipe& recipe, const layers::LinearTarget& target,
                                    std::size_t index) {
  RandomFactors factors{random_normal(recipe.rank * target.in, 1000 * recipe.seed + 2 * index),
                        random_normal(target.out * recipe.rank, 1000 * recipe.seed + 2 * index + 1)};
  for (float& value : factors.a) value /= std::sqrt(static_cast<float>(target.in));
  for (float& value : factors.b) value *= recipe.strength;
  return factors;
}

/// rows × columns values the other way round.
inline std::vector<float> transposed(const std::vector<float>& values, std::size_t rows,
                                     std::size_t columns) {
  std::vector<float> result(values.size());
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      result[column * rows + row] = values[row * columns + column];
  return result;
}

/// Writes tensors of floats.
inline void write_tensors(const std::filesystem::path& file,
                          const std::map<std::string, std::pair<Shape, std::vector<float>>>& tensors) {
  std::vector<io::TensorDeclaration> declarations;
  for (const auto& [name, tensor] : tensors) declarations.push_back({name, DType::kF32, tensor.first});
  io::SafetensorsWriter writer(file, declarations);
  for (const auto& [name, tensor] : tensors) writer.append_values(name, std::span(tensor.second));
  writer.finish();
}

/// Writes the adapter's two files into a folder, which is made.
inline void write_adapter(const std::filesystem::path& folder, const AdapterRecipe& recipe,
                          const std::vector<layers::LinearTarget>& targets) {
  std::filesystem::create_directories(folder);
  const bool peft = recipe.form == AdapterForm::kPeft;
  const auto r = static_cast<std::int64_t>(recipe.rank);
  std::map<std::string, std::pair<Shape, std::vector<float>>> tensors;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const layers::LinearTarget& target = targets[i];
    if (!recipe.wants(target)) continue;
    const auto in = static_cast<std::int64_t>(target.in), out = static_cast<std::int64_t>(target.out);
    const auto [a, b] = random_factors(recipe, target, i);
    if (peft) {
      tensors[recipe.prefix + target.path + ".lora_A.weight"] = {{r, in}, a};
      tensors[recipe.prefix + target.path + ".lora_B.weight"] = {{out, r}, b};
    } else {
      const std::string name = "language_model.model." + target.path;
      tensors[name + ".lora_a"] = {{in, r}, transposed(a, recipe.rank, target.in)};
      tensors[name + ".lora_b"] = {{r, out}, transposed(b, target.out, recipe.rank)};
    }
  }
  write_tensors(folder / (peft ? "adapter_model.safetensors" : "adapters.safetensors"), tensors);
  nlohmann::json config;
  if (peft)
    config = {{"peft_type", "LORA"}, {"r", recipe.rank}, {"lora_alpha", recipe.alpha}, {"bias", "none"}};
  else
    config = {{"fine_tune_type", "lora"},
              {"lora_parameters",
               {{"rank", recipe.rank}, {"scale", recipe.alpha / static_cast<double>(recipe.rank)}}}};
  config.update(recipe.config);
  std::ofstream(folder / "adapter_config.json") << config.dump();
}

}  // namespace lanner::test
