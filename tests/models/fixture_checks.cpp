// SPDX-License-Identifier: MIT
#include "models/fixture_checks.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

namespace lanner::test {
namespace {

// Tolerances of the fixtures' README for a float32 engine.
constexpr double kLayerRms = 5e-5;
constexpr double kLogitMax = 2e-3;
constexpr double kLogitRms = 5e-5;
// Long prompts through heads of the released size amplify rounding (measured 3.3e-5 and 1.6e-3 between
// references).
constexpr double kLongLogitMax = 1e-2;
constexpr double kLongLogitRms = 3e-4;

void check_logits(std::span<const float> got, std::span<const float> want, double max, double rms) {
  CHECK(max_absolute(got, want) <= max);
  CHECK(rms_relative(got, want) <= rms);
}

/// Keys or values of one layer at positions [begin, end) as [heads, positions, D], the oracle's order.
std::vector<float> read_blocks(Runner& runner, std::span<void* const> blocks, std::size_t first_block,
                               const cache::KvGeometry& geometry, std::size_t begin, std::size_t end) {
  std::vector<float> values;
  for (std::size_t head = 0; head < geometry.kv_heads; ++head)
    for (std::size_t p = begin; p < end; ++p) {
      const auto* block = static_cast<const float*>(blocks[p / device::kKvBlock - first_block]);
      const auto row = runner.on_host(
          block + (head * device::kKvBlock + p % device::kKvBlock) * geometry.head_dim, geometry.head_dim);
      values.insert(values.end(), row.begin(), row.end());
    }
  return values;
}

void check_caches(Runner& runner, cache::SequenceCache& cache, const io::SafetensorsFile& oracle,
                  const std::string& prompt) {
  const auto& specs = runner.model().cache_layers();
  for (std::size_t layer = 0; layer < specs.size(); ++layer) {
    CAPTURE(layer);
    if (const auto* recurrent = std::get_if<cache::RecurrentSpec>(&specs[layer])) {
      const std::string name = fmt::format("{}.delta.{}", prompt, layer);
      if (oracle.find(name) == nullptr) continue;
      const std::size_t count = recurrent->value_heads * recurrent->key_dim * recurrent->value_dim;
      const Buffer state(count * sizeof(float), *runner.ops().memory);
      cache.recurrent(layer).read_state(runner.ops(), runner.stream(), state.as<float>());
      CHECK(rms_relative(runner.on_host(state.as<float>(), count), oracle_floats(oracle, name)) <= kLayerRms);
      const auto conv = oracle_floats(oracle, fmt::format("{}.conv.{}", prompt, layer));  // [channels, taps]
      std::vector<float> want;
      for (std::size_t tap = 1; tap < recurrent->taps; ++tap)
        for (std::size_t c = 0; c < recurrent->conv_channels(); ++c)
          want.push_back(conv[c * recurrent->taps + tap]);
      const auto history = runner.on_host(cache.recurrent(layer).conv_history(), want.size());
      CHECK(rms_relative(history, want) <= kLayerRms);
    } else if (oracle.find(fmt::format("{}.key.{}", prompt, layer)) != nullptr) {
      const auto key = oracle_floats(oracle, fmt::format("{}.key.{}", prompt, layer));
      const auto value = oracle_floats(oracle, fmt::format("{}.value.{}", prompt, layer));
      const cache::KvCache& kv = cache.kv(layer);
      const std::size_t positions = key.size() / (kv.geometry().kv_heads * kv.geometry().head_dim);
      const std::size_t begin = cache.length() - positions;
      const device::KvBlocks blocks = kv.blocks();
      CHECK(rms_relative(
                read_blocks(runner, blocks.keys, blocks.first_block, kv.geometry(), begin, cache.length()),
                key) <= kLayerRms);
      CHECK(rms_relative(
                read_blocks(runner, blocks.values, blocks.first_block, kv.geometry(), begin, cache.length()),
                value) <= kLayerRms);
    }
  }
}

void check_layers(Runner& runner, const io::SafetensorsFile& oracle) {
  const std::size_t layers = runner.model().cache_layers().size();
  std::size_t seen = 0;
  const layers::Tap tap = [&](std::size_t index, const Tensor& hidden) {
    std::string name = fmt::format("prompt70.layer.{}", index - 1);
    if (index == 0) name = "prompt70.embed";
    if (index == layers + 1) name = "prompt70.final_norm";
    CAPTURE(name);
    CHECK(rms_relative(runner.on_host(hidden), oracle_floats(oracle, name)) <= kLayerRms);
    ++seen;
  };
  cache::SequenceCache cache = runner.new_cache();
  const auto ids = oracle_ids(oracle, "prompt70.ids");
  const auto logits = runner.logits(cache, ids, layers::Phase::kPrompt, tap);
  CHECK(seen == layers + 2);
  check_logits(logits, oracle_floats(oracle, "prompt70.logits"), kLogitMax, kLogitRms);
  check_caches(runner, cache, oracle, "prompt70");
}

void check_prompt(Runner& runner, const io::SafetensorsFile& oracle, const std::string& prompt) {
  CAPTURE(prompt);
  cache::SequenceCache cache = runner.new_cache();
  const auto logits = runner.logits(cache, oracle_ids(oracle, prompt + ".ids"));
  if (prompt == "prompt600") {
    const auto want = oracle_floats(oracle, "prompt600.tail_logits");
    const auto tail = std::span(logits).last(want.size());
    check_logits(tail, want, kLongLogitMax, kLongLogitRms);
  } else {
    check_logits(logits, oracle_floats(oracle, prompt + ".logits"), kLogitMax, kLogitRms);
    check_caches(runner, cache, oracle, prompt);
  }
}

/// Prefill, then the oracle's own tokens one at a time: row k of the oracle chose token k.
void check_decode(Runner& runner, const io::SafetensorsFile& oracle, const std::string& length) {
  CAPTURE(length);
  cache::SequenceCache cache = runner.new_cache();
  const auto tokens = oracle_ids(oracle, "decode" + length + ".tokens");
  std::vector<float> logits = runner.last_logits(cache, oracle_ids(oracle, "prompt" + length + ".ids"));
  for (std::size_t k = 0; k + 1 < tokens.size(); ++k) {
    const auto row = runner.logits(cache, {&tokens[k], 1}, layers::Phase::kDecode);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  const bool longest = length == "600";
  check_logits(logits, oracle_floats(oracle, "decode" + length + ".logits"),
               longest ? kLongLogitMax : kLogitMax, longest ? kLongLogitRms : kLogitRms);
  check_caches(runner, cache, oracle, "decode" + length);
}

}  // namespace

void check_fixture(Runner& runner, const std::filesystem::path& folder) {
  const io::SafetensorsFile oracle(folder / "oracle.safetensors");
  check_layers(runner, oracle);
  for (const char* prompt : {"prompt5", "prompt150", "prompt600"})
    if (oracle.find(std::string(prompt) + ".ids") != nullptr) check_prompt(runner, oracle, prompt);
  for (const char* length : {"5", "150", "600"})
    if (oracle.find("decode" + std::string(length) + ".tokens") != nullptr)
      check_decode(runner, oracle, length);
}

}  // namespace lanner::test
