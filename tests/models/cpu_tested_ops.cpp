// SPDX-License-Identifier: MIT
#include "core/cpu_features.h"
#include "models/fixture_case.h"

namespace lanner::test {

std::vector<device::Ops> tested_ops() {
  std::vector<device::Ops> all;
  for (Isa isa : supported_isas()) all.push_back(device::cpu_ops(isa));
  return all;
}

}  // namespace lanner::test
