// SPDX-License-Identifier: MIT
#include "engine/generation_defaults.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace lanner::engine {
namespace {

constexpr io::IntRange kId{.min = 0, .max = 0x7fffffff};
// Ends of turn of the two families, and the token after which Gemma waits for a tool's answer.
constexpr std::array<std::string_view, 5> kEndOfTurn = {"<turn|>", "<|tool_response>", "<eos>", "<|im_end|>",
                                                        "<|endoftext|>"};

void add_ids(const io::Fields& fields, std::string_view key, std::vector<TokenId>& ids) {
  if (const auto found = fields.find_int_or_ints(key, kId))
    for (std::int64_t id : *found) ids.push_back(static_cast<TokenId>(id));
}

SamplingOptions read_sampling(const io::Fields& fields) {
  SamplingOptions options;
  options.temperature = static_cast<float>(fields.optional_number("temperature", 1, {.min = 0, .max = 100}));
  options.top_k = static_cast<std::size_t>(fields.optional_int("top_k", 0, {.min = 0, .max = 1 << 30}));
  options.top_p = static_cast<float>(fields.optional_number("top_p", 1, {.min = 0, .max = 1}));
  options.min_p = static_cast<float>(fields.optional_number("min_p", 0, {.min = 0, .max = 1}));
  options.repetition_penalty =
      static_cast<float>(fields.optional_number("repetition_penalty", 1, {.min = 0.01, .max = 100}));
  if (!fields.optional_bool("do_sample", true)) options.temperature = 0;
  return options;
}

}  // namespace

GenerationDefaults read_generation_defaults(const io::Checkpoint& checkpoint,
                                            const text::Tokenizer& tokenizer) {
  GenerationDefaults defaults;
  if (const auto json = checkpoint.load_generation_config()) {
    const io::Fields fields(*json, "generation_config.json");
    defaults.sampling = read_sampling(fields);
    add_ids(fields, "eos_token_id", defaults.stop_ids);
    add_ids(fields, "suppress_tokens", defaults.suppressed);
  }
  const io::Fields config = checkpoint.config_fields();
  add_ids(config, "eos_token_id", defaults.stop_ids);
  if (const auto text = config.find_object("text_config")) add_ids(*text, "eos_token_id", defaults.stop_ids);
  for (std::string_view token : kEndOfTurn)
    if (const auto id = tokenizer.token_id(token)) defaults.stop_ids.push_back(*id);
  std::ranges::sort(defaults.stop_ids);
  defaults.stop_ids.erase(std::unique(defaults.stop_ids.begin(), defaults.stop_ids.end()),
                          defaults.stop_ids.end());
  return defaults;
}

}  // namespace lanner::engine
