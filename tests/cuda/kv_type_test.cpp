// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

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
      const auto got = cuda.tail_logits(type, ids, ids.size());
      CHECK(cuda.tail_logits(type, ids, 7) == got);
      CHECK(cuda.tail_logits(type, ids, 64) == got);
      // A key that lies between two codes may be rounded to the other one: of the storage's own error, which
      // is that of its distance from the exact storage, a part.
      const auto exact = cpu.tail_logits(KvType::kF32, ids, ids.size());
      const auto same = cpu.tail_logits(type, ids, ids.size());
      CHECK(rms_relative(got, same) <= 0.5 * rms_relative(same, exact));
    }
}

}  // namespace lanner::test
