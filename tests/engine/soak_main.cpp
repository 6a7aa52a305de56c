// SPDX-License-Identifier: MIT
// soak [SECONDS [SEED [MODEL]]]: the engine under random load, every answer compared with the request run
// alone; with MODEL, a part of a description, on those models alone.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "engine/soak.h"
#include "engine/test_models.h"

int main(int argc, char** argv) {
  using namespace lanner;
  doctest::Context context;  // test code used here checks through doctest
  context.setAsDefaultForAssertsOutOfTestCases();
  const long seconds = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 60;
  std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  auto models = test::all_models();
  for (auto& variant : test::quantized_variants()) models.push_back(std::move(variant));
  if (argc > 3)
    std::erase_if(
        models, [&](const auto& model) { return test::describe(*model).find(argv[3]) == std::string::npos; });
  if (models.empty()) {
    std::cerr << "soak: no model is described so" << std::endl;
    return 2;
  }
  const std::chrono::milliseconds each(
      std::max(1000L, std::min(20000L, 1000 * seconds / long(models.size()))));
  std::size_t faults = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (; std::chrono::steady_clock::now() < end; ++seed)
    for (const auto& model : models) {
      const test::SoakReport report = test::soak(model, {.seed = seed, .duration = each});
      std::cout << "seed " << seed << " " << test::describe(*model) << ": " << report.requests
                << " requests, " << report.finished << " finished, " << report.cancelled << " cancelled, "
                << report.constrained << " constrained, " << report.preemptions << " preemptions, "
                << report.prefix_hits << " prefix hits, " << report.accepted_guesses << " guesses right, "
                << report.put_off << " put off, " << report.faults.size() << " faults" << std::endl;
      for (const std::string& fault : report.faults) std::cout << "  " << fault << std::endl;
      faults += report.faults.size();
    }
  return faults == 0 ? 0 : 1;
}
