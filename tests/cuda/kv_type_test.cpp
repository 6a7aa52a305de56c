// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "device/cuda.h"
#include "models/fixture_case.h"
#include "random.h"

namespace lanner::test {
namespace {

using device::KvType;

std::vector<TokenId> random_ids(std::size_t count, std::uint64_t seed) {
  std::vector<TokenId> ids;
  for (float value : random_uniform(count, seed, 300, 7000)) ids.push_back(static_cast<TokenId>(value));
  return ids;
}

/// Logits of the last 12 ids, given one by one after the rest came in pieces.
std::vector<float> tail_logits(Runner& runner, KvType type, const std::vector<TokenId>& ids,
                               std::size_t piece) {
  cache::SequenceCache cache({.layers = runner.model().cache_layers(), .kv_type = type},
                             cache::BlockPool(cache::BlockPool::kUnlimited, *runner.ops().memory));
  const std::size_t head = ids.size() - 12;
  for (std::size_t begin = 0; begin < head; begin += piece)
    runner.last_logits(cache, std::span(ids).subspan(begin, std::min(piece, head - begin)));
  std::vector<float> all;
  for (std::size_t i = head; i < ids.size(); ++i) {
    const auto row = runner.logits(cache, {&ids[i], 1}, layers::Phase::kDecode);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

/// Root mean square of the difference over that of `want`.
double relative_error(std::span<const float> got, std::span<const float> want) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += std::pow(double(got[i]) - double(want[i]), 2);
    norm += std::pow(double(want[i]), 2);
  }
  return std::sqrt(difference / norm);
}

}  // namespace

TEST_CASE("cuda: keys and values in few bits: pieces change no bit, and the CPU finds the same") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"})
    for (KvType type : {KvType::kBF16, KvType::kAffine8, KvType::kAffine6, KvType::kAffine4}) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(type));
      const std::filesystem::path folder = std::filesystem::path(LANNER_MODELS_DIR) / name;
      Runner cuda(folder, device::cuda_ops(0), 1);
      Runner cpu(folder, detect_isa(), 2);
      const auto ids = random_ids(330, 11);
      const auto got = tail_logits(cuda, type, ids, ids.size());
      CHECK(tail_logits(cuda, type, ids, 7) == got);
      CHECK(tail_logits(cuda, type, ids, 64) == got);
      // A key that lies between two codes may be rounded to the other one: of the storage's own error, which
      // is that of its distance from the exact storage, a part.
      const auto exact = tail_logits(cpu, KvType::kF32, ids, ids.size());
      const auto same = tail_logits(cpu, type, ids, ids.size());
      CHECK(relative_error(got, same) <= 0.5 * relative_error(same, exact));
    }
}

}  // namespace lanner::test
