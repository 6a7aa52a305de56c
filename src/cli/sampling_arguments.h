// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli11_app.h"
#include "cli/model_arguments.h"
#include "core/token.h"
#include "engine/engine_options.h"
#include "engine/generation_defaults.h"
#include "engine/loaded_model.h"
#include "engine/request.h"
#include "engine/sampling_options.h"

namespace lanner::cli {

/// How answers are chosen and how long they get; what is absent comes from the checkpoint.
struct SamplingArguments {
  std::optional<float> temperature = {};
  std::optional<std::size_t> top_k = {};
  std::optional<float> top_p = {};
  std::optional<float> min_p = {};
  std::optional<float> repeat_penalty = {};
  std::optional<float> presence_penalty = {};
  std::optional<float> frequency_penalty = {};
  std::optional<std::int64_t> repeat_last_n = {};  ///< -1 = all tokens, 0 = no penalties
  std::map<TokenId, float> logit_bias = {};
  std::optional<std::uint64_t> seed = {};
  std::int64_t max_tokens = -1;  ///< -1 = to the end of the context
  std::size_t context = 0;       ///< 0 = the model's own
  std::size_t chunk = 512;
  std::size_t draft_tokens = 0;
  bool ignore_eos = false;
  std::vector<std::string> stop = {};
};

/// Adds the options in groups "Sampling" and "Length".
void add_sampling_options(CLI::App& app, SamplingArguments& arguments);

/// The checkpoint's defaults with what the user gave on top. `seed` is used when the user gave none. Throws
/// Error kInvalidArgument for a biased id outside the vocabulary of `vocabulary` tokens.
engine::SamplingOptions sampling_options(const SamplingArguments& arguments,
                                         const engine::GenerationDefaults& defaults, std::size_t vocabulary,
                                         std::uint64_t seed);

/// A request with these lengths and stop strings, as much as the context holds; sampling is still to be set.
engine::Request answer_request(const SamplingArguments& arguments, std::vector<TokenId> prompt,
                               const engine::LoadedModel& model);

/// An engine for these threads and pieces of prompts.
engine::EngineOptions engine_options(const ModelArguments& machine, const SamplingArguments& arguments);

/// A seed nobody chose, short enough to type.
std::uint64_t random_seed();

/// "15043+1.5", "15043-2", "15043=-inf" → id and bias; nothing when it is no such text.
std::optional<std::pair<TokenId, float>> parse_logit_bias(const std::string& text);

}  // namespace lanner::cli
