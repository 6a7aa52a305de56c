// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "core/token.h"
#include "engine/sampling_options.h"
#include "io/checkpoint.h"
#include "text/tokenizer.h"

namespace lanner::engine {

/// How a checkpoint asks to be sampled and where its answers end.
struct GenerationDefaults {
  SamplingOptions sampling;
  std::vector<TokenId> stop_ids;    ///< ascending
  std::vector<TokenId> suppressed;  ///< never to be chosen
};

/// Reads generation_config.json and the end-of-text ids of config.json. The stop ids are the union of both
/// and of the end-of-turn tokens the vocabulary has, since either file alone is incomplete in released
/// folders. Without generation_config.json sampling is greedy when do_sample is false, else temperature 1.
/// Throws Error kCorrupt.
GenerationDefaults read_generation_defaults(const io::Checkpoint& checkpoint,
                                            const text::Tokenizer& tokenizer);

}  // namespace lanner::engine
