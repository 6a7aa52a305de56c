// SPDX-License-Identifier: MIT
#include "models/model_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"
#include "models/gemma4/gemma4_model.h"
#include "models/qwen3_5/qwen3_5_model.h"

namespace lanner::models {
namespace {

constexpr std::array<std::string_view, 4> kGemma4 = {"gemma4", "gemma4_text", "gemma4_unified",
                                                     "gemma4_unified_text"};
constexpr std::array<std::string_view, 4> kQwen35 = {"qwen3_5", "qwen3_5_text", "qwen3_5_moe",
                                                     "qwen3_5_moe_text"};

bool is_one_of(std::string_view type, std::span<const std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

}  // namespace

std::unique_ptr<Model> load_model(const io::Checkpoint& checkpoint, const LoadTarget& target) {
  const std::string type = checkpoint.config_fields().required_string("model_type");
  if (is_one_of(type, kGemma4)) return std::make_unique<gemma4::Gemma4Model>(checkpoint, target);
  if (is_one_of(type, kQwen35)) return std::make_unique<qwen3_5::Qwen35Model>(checkpoint, target);
  if (type.ends_with("_assistant") || type == "qwen3_5_mtp")
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("config.json: model_type is \"{}\", a drafter that only runs beside its target model",
                    type));
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("config.json: model_type is \"{}\"; lanner runs gemma4, gemma4_text, gemma4_unified, "
                  "gemma4_unified_text, qwen3_5, qwen3_5_text, qwen3_5_moe and qwen3_5_moe_text",
                  type));
}

}  // namespace lanner::models
