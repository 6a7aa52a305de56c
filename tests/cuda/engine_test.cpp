// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "engine/soak.h"
#include "engine/test_models.h"

namespace lanner::test {

TEST_CASE("cuda: in a crowd, tokens chosen on the card are those the host chooses alone") {
  using device::KvType;
  struct Case {
    std::shared_ptr<const engine::LoadedModel> model;
    std::uint64_t seed;
  };
  for (const Case& one :
       {Case{tale("tale-gemma4", {.cuda = 0}), 1},
        Case{tale("tale-qwen3_5", {.cuda = 0, .compute = device::Compute::kHalf}), 2},
        Case{tale("tale-gemma4", {.cuda = 0, .kv_type = KvType::kAffine8}), 3},
        Case{random_model("qwen3_5/q3_moe", {.cuda = 0, .kv_type = KvType::kAffine4}), 4}}) {
    CAPTURE(describe(*one.model));
    const SoakReport report = soak(one.model, {.seed = one.seed, .duration = std::chrono::seconds(9)});
    MESSAGE(report.requests << " requests, " << report.constrained << " held to a grammar");
    CHECK(report.requests > 10);
    for (const std::string& fault : report.faults) FAIL_CHECK(fault);
  }
}

}  // namespace lanner::test
