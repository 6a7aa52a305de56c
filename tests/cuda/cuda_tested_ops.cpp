// SPDX-License-Identifier: MIT
#define DOCTEST_CONFIG_NO_SHORT_MACRO_NAMES
#include <doctest/doctest.h>

#include <iostream>

#include "device/cuda.h"
#include "models/fixture_case.h"

namespace lanner::test {

std::vector<device::Ops> tested_ops() { return {device::cuda_ops(0)}; }

}  // namespace lanner::test

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const auto cards = lanner::device::cuda_cards();
  if (cards.empty()) {
    std::cout << "skipped: this machine shows no NVIDIA GPU\n";
    return kSkipped;
  }
  std::cout << "on " << cards.front().name << '\n';
  return doctest::Context(argc, argv).run();
}
