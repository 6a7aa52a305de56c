// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/request.h"
#include "server/json_fields.h"
#include "server/request_rules.h"

namespace lanner::server {

/// Whether an answer is sent while it is made.
enum class Delivery : std::uint8_t { kWhole, kStream };

/// What every generating route can be asked for, apart from its prompt.
struct GenerationFields {
  /// Without prompt, tools and constraint.
  engine::Request request = {};
  Delivery delivery = Delivery::kWhole;
  std::string model = {};  ///< as asked for; empty = not
  bool seeded = false;     ///< the request chose its seed
  bool include_usage = false;
  bool include_timings = false;
  bool include_stop = false;  ///< the stop string that was met is part of the text
  bool return_tokens = false;
  bool log_all_tokens = false;  ///< log-probabilities of thoughts and tool calls too
  bool exclude_reasoning = false;
};

/// Reads sampling fields, seed, n, stops, lengths, deadlines and what goes with them. `fields` may have other
/// fields too. Throws RequestError.
GenerationFields read_generation(const JsonFields& fields, const RequestRules& rules);

/// top_logprobs, which some clients set to -1 when they want none.
std::optional<std::size_t> read_top_logprobs(const JsonFields& fields);

/// Longer than an hour is for `timeout_ms`.
inline constexpr std::int64_t kLongestTimeoutMs = std::int64_t{1000} * 3600 * 24 * 30;

/// priority, timeout_ms and cache.
void read_service(const JsonFields& fields, const RequestRules& rules, engine::Request& request);

/// max_completion_tokens or max_tokens, else what fits, at most `default_tokens`. 0 = evaluate the prompt.
void read_max_tokens(const JsonFields& fields, GenerationFields& generation);

/// Stop strings: one string or an array of at most 16, none empty.
std::vector<std::string> read_stops(const JsonFields& fields, std::string_view name);

/// The adapter that a model's name asks for, as "a" of "model:a". Throws RequestError 404 for a model that is
/// not served, as far as the rules are strict.
std::optional<std::string> check_model(const std::string& model, const RequestRules& rules);

}  // namespace lanner::server
