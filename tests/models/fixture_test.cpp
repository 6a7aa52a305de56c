// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>

#include "models/fixture_checks.h"

namespace lanner::test {

TEST_CASE(
    "every text model agrees with the reference per layer, per logit, per cached state and while decoding") {
  const auto fixtures = model_fixtures();
  REQUIRE(fixtures.size() >= 6);
  for (const auto& folder : fixtures)
    for (const device::Ops& ops : tested_ops()) {
      CAPTURE(folder.filename().string());
      CAPTURE(std::string(ops.device));
      Runner runner(folder, ops, 2);
      check_fixture(runner, folder);
    }
}

}  // namespace lanner::test
