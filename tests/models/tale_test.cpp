// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "models/fixture_case.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;

// The oracle's own NumPy check agrees within 6e-5; a float engine with another summation order gets a margin
// of five.
constexpr double kLogitMax = 3e-4;
constexpr double kLogprobMax = 3e-4;
constexpr double kHiddenRms = 5e-5;

fs::path originals() {
  const char* variable = std::getenv("LANNER_TALE_MODELS");
  return variable != nullptr ? fs::path(variable) : fs::path(LANNER_TALE_ORIGINALS);
}

std::vector<std::int64_t> integers(const io::SafetensorsFile& oracle, const std::string& name) {
  const io::TensorEntry& entry = oracle.require(name);
  std::vector<std::int64_t> values(entry.bytes.size() / sizeof(std::int64_t));
  std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  return values;
}

std::vector<TokenId> tokens(const io::SafetensorsFile& oracle, const std::string& name) {
  const auto values = integers(oracle, name);
  return {values.begin(), values.end()};
}

double log_probability(std::span<const float> logits, TokenId token) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (float z : logits) sum += std::exp(double(z) - top);
  return double(logits[static_cast<std::size_t>(token)]) - top - std::log(sum);
}

void check_given_tokens(Runner& runner, const io::SafetensorsFile& oracle, const std::string& prompt) {
  const auto ids = tokens(oracle, prompt + ".input_ids");
  cache::SequenceCache cache = runner.new_cache();
  std::vector<std::vector<float>> last_rows;
  const auto logits =
      runner.logits(cache, ids, layers::Phase::kPrompt, [&](std::size_t, const Tensor& hidden) {
        const auto row =
            runner.on_host(static_cast<const float*>(hidden.data) + (hidden.rows() - 1) * hidden.columns(),
                           hidden.columns());
        last_rows.emplace_back(row.begin(), row.end());
      });
  const std::size_t vocabulary = runner.model().facts().vocabulary;
  const auto row = [&](std::size_t t) { return std::span(logits).subspan(t * vocabulary, vocabulary); };
  const auto positions = integers(oracle, prompt + ".positions");
  const auto want = oracle_floats(oracle, prompt + ".logits");
  for (std::size_t i = 0; i < positions.size(); ++i)
    CHECK(max_absolute(row(static_cast<std::size_t>(positions[i])),
                       std::span(want).subspan(i * vocabulary, vocabulary)) <= kLogitMax);
  const auto logprobs = oracle_floats(oracle, prompt + ".token_logprobs");
  REQUIRE(logprobs.size() + 1 == ids.size());
  double worst = 0;
  for (std::size_t t = 0; t + 1 < ids.size(); ++t)
    worst = std::max(worst, std::abs(log_probability(row(t), ids[t + 1]) - double(logprobs[t])));
  CHECK(worst <= kLogprobMax);
  // The oracle keeps the embedding and each layer; its last entry is after the final norm, which replaces the
  // last layer's own output.
  const auto hidden = oracle_floats(oracle, prompt + ".hidden_last");
  const std::size_t width = runner.model().facts().hidden_size;
  last_rows.erase(last_rows.end() - 2);
  REQUIRE(last_rows.size() * width == hidden.size());
  for (std::size_t i = 0; i < last_rows.size(); ++i) {
    CAPTURE(i);
    CHECK(rms_relative(last_rows[i], std::span(hidden).subspan(i * width, width)) <= kHiddenRms);
  }
}

void check_greedy(Runner& runner, const io::SafetensorsFile& oracle, const std::string& prompt) {
  cache::SequenceCache cache = runner.new_cache();
  std::vector<float> logits = runner.last_logits(cache, tokens(oracle, prompt + ".input_ids"));
  std::vector<TokenId> chosen;
  const auto want = tokens(oracle, prompt + ".greedy");
  while (chosen.size() < want.size()) {
    chosen.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
    logits = runner.logits(cache, {&chosen.back(), 1}, layers::Phase::kDecode);
  }
  CHECK(chosen == want);
}

}  // namespace

TEST_CASE("the trained models give the reference's logits, hidden states and 64 greedy tokens") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    const fs::path folder = originals() / name;
    if (!fs::exists(folder / "model.safetensors.index.json")) {
      MESSAGE("skipped: no bf16 original of " << std::string(name) << " (set LANNER_TALE_MODELS)");
      continue;
    }
    CAPTURE(name);
    Runner runner(folder, tested_ops().back(), 2);
    const io::SafetensorsFile oracle(folder / "oracle/logits.safetensors");
    for (int p = 0; p < 9; ++p) {
      const std::string prompt = fmt::format("p{}", p);
      CAPTURE(prompt);
      check_given_tokens(runner, oracle, prompt);
      check_greedy(runner, oracle, prompt);
    }
  }
}

}  // namespace lanner::test
