// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "server/problem.h"
#include "server/sampling_fields.h"

namespace lanner::server {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();
constexpr std::int64_t kLongestWindow = std::numeric_limits<std::int32_t>::max();

void read_number(const JsonFields& fields, const char* name, NumberRange range, float& value) {
  if (const auto number = fields.number(name, range)) value = static_cast<float>(*number);
}

void read_dry(const JsonFields& fields, engine::DryOptions& dry) {
  read_number(fields, "dry_multiplier", {0, kLargest}, dry.multiplier);
  read_number(fields, "dry_base", {1, kLargest}, dry.base);
  if (const auto length = fields.integer("dry_allowed_length", {0, kLongestWindow}))
    dry.allowed_length = static_cast<std::size_t>(*length);
  if (const auto window = fields.integer("dry_penalty_last_n", {-1, kLongestWindow}))
    dry.window = *window < 0 ? 0 : static_cast<std::size_t>(*window);
  const Json* breakers = fields.array("dry_sequence_breakers");
  if (breakers == nullptr) return;
  dry.breakers.clear();
  for (const Json& text : *breakers) {
    const std::string at = fmt::format("{}[{}]", fields.path("dry_sequence_breakers"), dry.breakers.size());
    if (!text.is_string()) refuse_type(at, "a string", text);
    dry.breakers.push_back(text.get<std::string>());
  }
}

void read_mirostat(const JsonFields& fields, engine::MirostatOptions& mirostat) {
  const auto version = fields.integer("mirostat", {0, 2});
  const auto mode = fields.integer("mirostat_mode", {0, 2});
  if (version || mode) mirostat.version = static_cast<int>(version ? *version : *mode);
  read_number(fields, "mirostat_tau", {0, kLargest}, mirostat.target);
  read_number(fields, "mirostat_eta", {0, kLargest}, mirostat.rate);
}

void read_hlg(const JsonFields& fields, engine::HlgOptions& hlg) {
  const Json* value = fields.object("hlg");
  if (value == nullptr) return;
  const JsonFields inner(*value, fields.path("hlg"));
  hlg.enabled = inner.boolean("enabled").value_or(true);
  read_number(inner, "gain", {0, kLargest}, hlg.gain);
  read_number(inner, "width", {0, kLargest}, hlg.width);
  read_number(inner, "shoulder", {-kLargest, kLargest}, hlg.shoulder);
  read_number(inner, "toe", {-kLargest, kLargest}, hlg.toe);
  read_number(inner, "pivot_offset", {-kLargest, kLargest}, hlg.pivot_offset);
  const auto pivot = inner.one_of("pivot", {"top", "entropy", "median"});
  if (pivot == "entropy") hlg.pivot = engine::HlgOptions::Pivot::kEntropy;
  if (pivot == "median") hlg.pivot = engine::HlgOptions::Pivot::kMedian;
}

void read_curve(const JsonFields& fields, engine::SamplingOptions& options) {
  const Json* value = fields.object("curve");
  if (value == nullptr) return;
  const JsonFields curve(*value, fields.path("curve"));
  curve.require("points");
  const std::string path = curve.path("points");
  for (const Json& json : *curve.array("points")) {
    const JsonFields point(json, fmt::format("{}[{}]", path, options.curve.size()));
    point.require("x_pct");
    point.require("y_pct");
    options.curve.emplace_back(static_cast<float>(*point.number("x_pct", {1e-6, 100})),
                               static_cast<float>(*point.number("y_pct", {1e-6, 100})));
  }
  if (options.curve.size() < 2)
    refuse_field(path, "invalid_value",
                 fmt::format("{} has {} points, expected at least 2", path, options.curve.size()));
  std::ranges::sort(options.curve);
  for (std::size_t i = 1; i < options.curve.size(); ++i)
    if (options.curve[i].first <= options.curve[i - 1].first ||
        options.curve[i].second < options.curve[i - 1].second)
      refuse_field(path, "invalid_value", path + " must rise from point to point");
}

/// Penalties and DRY stay where they are; their names are accepted because llama.cpp lists them here.
void read_order(const JsonFields& fields, engine::SamplingOptions& options) {
  using engine::SamplerStep;
  static const std::map<std::string, SamplerStep, std::less<>> kSteps = {
      {"top_n_sigma", SamplerStep::kTopNSigma},
      {"typical_p", SamplerStep::kTypicalP},
      {"typ_p", SamplerStep::kTypicalP},
      {"top_p", SamplerStep::kTopP},
      {"min_p", SamplerStep::kMinP},
      {"xtc", SamplerStep::kXtc},
      {"top_k", SamplerStep::kTopK},
      {"temperature", SamplerStep::kTemperature}};
  const Json* names = fields.array("samplers");
  if (names == nullptr) return;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const Json& name = (*names)[i];
    const std::string at = fmt::format("{}[{}]", fields.path("samplers"), i);
    if (!name.is_string()) refuse_type(at, "a string", name);
    const auto step = kSteps.find(name.get_ref<const std::string&>());
    if (step != kSteps.end())
      options.steps.push_back(step->second);
    else if (name != "penalties" && name != "dry")
      refuse_field(at, "invalid_value", at + " names no sampler");
  }
}

}  // namespace

void read_samplers(const JsonFields& fields, engine::SamplingOptions& options) {
  read_number(fields, "typical_p", {0, 1}, options.typical_p);
  read_number(fields, "top_n_sigma", {-kLargest, kLargest}, options.top_n_sigma);
  read_number(fields, "xtc_probability", {0, 1}, options.xtc.probability);
  read_number(fields, "xtc_threshold", {0, 1}, options.xtc.threshold);
  read_number(fields, "dynatemp_range", {0, kLargest}, options.dynamic_temperature.range);
  read_number(fields, "dynatemp_exponent", {0, kLargest}, options.dynamic_temperature.exponent);
  read_number(fields, "adaptive_target", {-1, 1}, options.adaptive.target);
  read_number(fields, "adaptive_decay", {0, 0.99}, options.adaptive.decay);
  read_dry(fields, options.dry);
  read_mirostat(fields, options.mirostat);
  read_hlg(fields, options.hlg);
  read_curve(fields, options);
  read_order(fields, options);
}

}  // namespace lanner::server
