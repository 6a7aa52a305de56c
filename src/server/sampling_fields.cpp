// SPDX-License-Identifier: MIT
#include "server/sampling_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "io/message_text.h"
#include "server/problem.h"

namespace lanner::server {
namespace {

constexpr std::int64_t kMostCount = std::numeric_limits<std::int32_t>::max();
constexpr double kLargestFloat = std::numeric_limits<float>::max();
/// Biases at or below this ban a token.
constexpr double kBanBias = -1e30;
constexpr double kHottest = 5;

/// A number, or {"points": [[token index, temperature], ...]}.
void read_temperature(const JsonFields& fields, engine::SamplingOptions& options) {
  const Json* value = fields.find("temperature");
  if (value == nullptr || !value->is_object()) {
    if (const auto number = fields.number("temperature", {0, kHottest}))
      options.temperature = static_cast<float>(*number);
    return;
  }
  const JsonFields schedule(*value, fields.path("temperature"));
  schedule.require("points");
  for (const Json& point : *schedule.array("points")) {
    const std::string at = fmt::format("{}[{}]", schedule.path("points"), options.temperature_points.size());
    if (!point.is_array() || point.size() != 2 || !point[0].is_number_integer() ||
        point[0].get<std::int64_t>() < 0 || !point[1].is_number())
      refuse_field(at, "invalid_type", at + " must be a pair of token index and temperature");
    const double temperature = point[1].get<double>();
    const auto index = point[0].get<std::size_t>();
    const bool ascends =
        options.temperature_points.empty() || options.temperature_points.back().first < index;
    if (!(temperature >= 0 && temperature <= kHottest) || !ascends)
      refuse_field(at, "invalid_value", at + " must have a later token index and a temperature from 0 to 5");
    options.temperature_points.emplace_back(index, static_cast<float>(temperature));
  }
  if (options.temperature_points.empty())
    refuse_field(schedule.path("points"), "invalid_value", schedule.path("points") + " is empty");
  options.temperature = options.temperature_points.front().second;
}

void read_truncation(const JsonFields& fields, std::size_t vocabulary, engine::SamplingOptions& options) {
  read_temperature(fields, options);
  if (const auto value = fields.number("top_p", {0, 1}))
    options.top_p = *value > 0 ? static_cast<float>(*value) : 1;
  if (const auto value = fields.integer("top_k", {-1, std::numeric_limits<std::int64_t>::max()}))
    options.top_k =
        *value <= 0 || static_cast<std::size_t>(*value) >= vocabulary ? 0 : static_cast<std::size_t>(*value);
  if (const auto value = fields.number("min_p", {0, 1})) options.min_p = static_cast<float>(*value);
}

/// Of two names for one field the first wins.
template <typename Read>
auto first_of(Read read, const char* name, const char* alias) {
  const auto value = read(name);
  const auto other = read(alias);
  return value ? value : other;
}

void read_windows(const JsonFields& fields, engine::SamplingOptions& options) {
  const auto read = [&](const char* name) { return fields.integer(name, {-1, kMostCount}); };
  const auto set = [](std::size_t& window, std::optional<std::int64_t> value) {
    if (value) window = static_cast<std::size_t>(std::max<std::int64_t>(0, *value));
  };
  set(options.penalty_window, first_of(read, "repetition_context_size", "repeat_last_n"));
  set(options.presence_window, read("presence_context_size"));
  set(options.frequency_window, read("frequency_context_size"));
}

void read_penalties(const JsonFields& fields, engine::SamplingOptions& options) {
  const auto read = [&](const char* name) {
    return fields.number(name, {std::numeric_limits<float>::min(), kLargestFloat});
  };
  if (const auto value = first_of(read, "repetition_penalty", "repeat_penalty"))
    options.repetition_penalty = static_cast<float>(*value);
  if (const auto value = fields.number("presence_penalty", {-kLargestFloat, kLargestFloat}))
    options.presence_penalty = static_cast<float>(*value);
  if (const auto value = fields.number("frequency_penalty", {-kLargestFloat, kLargestFloat}))
    options.frequency_penalty = static_cast<float>(*value);
  read_windows(fields, options);
}

float read_bias(const Json& value, const std::string& at) {
  constexpr float kBan = -std::numeric_limits<float>::infinity();
  if (value.is_boolean() && !value.get<bool>()) return kBan;
  if (!value.is_number()) refuse_type(at, "a number or false", value);
  const double bias = value.get<double>();
  if (bias <= kBanBias) return kBan;
  if (!(bias <= kLargestFloat)) refuse_field(at, "invalid_value", at + " is too large");
  return static_cast<float>(bias);
}

void read_biases(const JsonFields& fields, std::size_t vocabulary, engine::SamplingOptions& options) {
  const Json* biases = fields.object("logit_bias");
  if (biases == nullptr) return;
  for (const auto& [key, value] : biases->items()) {
    const std::string at = fields.path("logit_bias");
    std::uint64_t id = 0;
    const char* end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data(), end, id);
    if (error != std::errc() || stop != end || id >= vocabulary)
      refuse_field(at, "invalid_value",
                   fmt::format("{} has the key {}, expected token ids from 0 to {}", at, io::in_quotes(key),
                               vocabulary - 1));
    options.logit_bias[static_cast<TokenId>(id)] = read_bias(value, fmt::format("{}.{}", at, key));
  }
}

}  // namespace

engine::SamplingOptions read_sampling(const JsonFields& fields, const RequestRules& rules) {
  engine::SamplingOptions options = rules.sampling;
  read_truncation(fields, rules.vocabulary, options);
  read_penalties(fields, options);
  read_biases(fields, rules.vocabulary, options);
  read_samplers(fields, options);
  return options;
}

}  // namespace lanner::server
