// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "device/ops.h"
#include "models/model_registry.h"

namespace lanner::models {

TEST_CASE("loading tells how far it is, from the first weight to the last") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    CAPTURE(name);
    const device::Ops ops = device::cpu_ops(Isa::kReference);
    ThreadPool pool(1);
    std::vector<double> shares;
    load_model(io::Checkpoint(std::filesystem::path(LANNER_MODELS_DIR) / name),
               {.ops = ops, .pool = pool, .progress = [&](double share) { shares.push_back(share); }});
    REQUIRE(shares.size() > 50);
    CHECK(std::ranges::is_sorted(shares));
    CHECK(shares.front() > 0);
    CHECK(shares.front() < 0.5);
    CHECK(shares.back() > 0.85);  // parts that no step uses do not arrive
    CHECK(shares.back() <= 1);
  }
}

}  // namespace lanner::models
