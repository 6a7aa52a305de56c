// SPDX-License-Identifier: MIT
#include "cli/sampling_arguments.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/error.h"

namespace lanner::cli {

TEST_CASE("a logit bias is an id, a sign and a number") {
  CHECK(parse_logit_bias("15043+1.5") == std::pair<TokenId, float>{15043, 1.5F});
  CHECK(parse_logit_bias("7-2") == std::pair<TokenId, float>{7, -2.0F});
  CHECK(parse_logit_bias("7=-2") == std::pair<TokenId, float>{7, -2.0F});
  CHECK(std::isinf(parse_logit_bias("7-inf")->second));
  for (const char* text :
       {"", "7", "7+", "+1", "x+1", "-7+1", "7+inf", "7+nan", "7+1e400", "7+1x", "7*2", "99999999999+1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_logit_bias(text).has_value());
  }
}

TEST_CASE("what the user leaves out comes from the checkpoint") {
  engine::GenerationDefaults defaults;
  defaults.sampling = {.temperature = 0.7F, .top_k = 64, .top_p = 0.95F, .min_p = 0.1F};
  engine::SamplingOptions options = sampling_options({}, defaults, 100, 9);
  CHECK(options.temperature == 0.7F);
  CHECK(options.top_k == 64);
  CHECK(options.top_p == 0.95F);
  CHECK(options.min_p == 0.1F);
  CHECK(options.seed == 9);
  options = sampling_options({.temperature = 0.0F, .top_k = 0, .seed = 3}, defaults, 100, 9);
  CHECK(options.temperature == 0);
  CHECK(options.top_k == 0);
  CHECK(options.top_p == 0.95F);
  CHECK(options.seed == 3);
}

TEST_CASE("repeat-last-n has llama.cpp's meaning: -1 all tokens, 0 no penalties") {
  engine::GenerationDefaults defaults;
  defaults.sampling.repetition_penalty = 1.2F;
  CHECK(sampling_options({.repeat_last_n = -1}, defaults, 100, 0).penalty_window == 0);
  CHECK(sampling_options({.repeat_last_n = 5}, defaults, 100, 0).penalty_window == 5);
  CHECK(
      sampling_options({.presence_penalty = 1.0F, .repeat_last_n = 0}, defaults, 100, 0).repetition_penalty ==
      1);
}

TEST_CASE("a bias outside the vocabulary is refused") {
  const engine::GenerationDefaults defaults;
  CHECK_THROWS_AS(sampling_options({.logit_bias = {{200, 1.0F}}}, defaults, 200, 0), Error);
}

}  // namespace lanner::cli
