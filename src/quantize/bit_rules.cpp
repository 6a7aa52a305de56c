// SPDX-License-Identifier: MIT
#include "quantize/bit_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "io/message_text.h"

namespace lanner::quantize {
namespace {

constexpr std::string_view kGates[] = {"router.proj", "mlp.gate", "shared_expert_gate"};
constexpr std::string_view kDenseOnly = "per_layer_model_projection";
constexpr QuantFormat kGateFormat = {QuantMode::kAffine, 8, 64};

Error bad_override(std::string_view text, std::string_view problem) {
  return Error(
      ErrorKind::kInvalidArgument,
      fmt::format("override {}: {}; expected REGEX=BITS, REGEX=BITS:GROUP or REGEX=none, for example "
                  "\"down_proj=6:64\"",
                  io::in_quotes(text), problem));
}

int parse_number(std::string_view digits, std::string_view text, std::string_view what) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw bad_override(text, fmt::format("{} is not a number ({})", io::in_quotes(digits), what));
  return value;
}

bool ends_with_any(std::string_view module) {
  return std::ranges::any_of(kGates, [&](std::string_view gate) { return module.ends_with(gate); });
}

/// The format itself, the same bits at a smaller group, or nothing.
std::optional<QuantFormat> fit(QuantFormat format, std::size_t columns) {
  while (columns % static_cast<std::size_t>(format.group) != 0) {
    format.group /= 2;
    if (!is_legal(format)) return std::nullopt;
  }
  return format;
}

}  // namespace

BitOverride parse_bit_override(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) throw bad_override(text, "no \"=\" after a pattern");
  const std::string_view value = text.substr(equals + 1);
  const std::optional<ModulePattern> pattern = ModulePattern::compile(text.substr(0, equals));
  if (!pattern)
    throw bad_override(text,
                       fmt::format("{} is not a regular expression", io::in_quotes(text.substr(0, equals))));
  BitOverride result{.text = std::string(text), .pattern = *pattern, .bits = {}, .group = {}};
  if (value == "none") return result;
  const std::size_t colon = value.find(':');
  result.bits = parse_number(value.substr(0, colon), text, "bits");
  if (colon != std::string_view::npos) result.group = parse_number(value.substr(colon + 1), text, "group");
  const QuantFormat format{QuantMode::kAffine, *result.bits, result.group.value_or(64)};
  if (!is_legal(format))
    throw bad_override(
        text, fmt::format("{} bits at group {} do not exist (bits 2, 3, 4, 5, 6, 8; group 32, 64, 128)",
                          format.bits, format.group));
  return result;
}

BitRules::BitRules(const QuantFormat& global, std::vector<BitOverride> overrides)
    : global_(global), overrides_(std::move(overrides)), used_(overrides_.size()) {
  if (!is_legal(global))
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} bits at group {} do not exist in mode {} (affine: bits 2, 3, 4, 5, 6, 8 at group 32, "
                    "64 or 128; mxfp4 4 at 32; mxfp8 8 at 32; nvfp4 4 at 16)",
                    global.bits, global.group, name(global.mode)));
}

std::optional<QuantFormat> BitRules::wanted(std::string_view module) {
  for (std::size_t i = 0; i < overrides_.size(); ++i) {
    const BitOverride& rule = overrides_[i];
    if (!rule.pattern.finds(module)) continue;
    used_[i] = true;
    if (!rule.bits) return std::nullopt;
    const int group = global_.mode == QuantMode::kAffine ? global_.group : 64;
    return QuantFormat{QuantMode::kAffine, *rule.bits, rule.group.value_or(group)};
  }
  if (module.ends_with(kDenseOnly)) return std::nullopt;
  return ends_with_any(module) ? kGateFormat : global_;
}

ModuleFormat BitRules::format_of(std::string_view module, std::size_t columns) {
  const std::optional<QuantFormat> wish = wanted(module);
  const std::optional<QuantFormat> format = wish ? fit(*wish, columns) : std::nullopt;
  return {format, format != global_};
}

std::vector<std::string> BitRules::unused_overrides() const {
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < overrides_.size(); ++i)
    if (!used_[i]) unused.push_back(overrides_[i].text);
  return unused;
}

}  // namespace lanner::quantize
