// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/perplexity.h"
#include "io/json.h"

namespace lanner::engine {
namespace {

namespace fs = std::filesystem;

fs::path originals() {
  const char* variable = std::getenv("LANNER_TALE_MODELS");
  return variable != nullptr ? fs::path(variable) : fs::path(LANNER_TALE_ORIGINALS);
}

}  // namespace

TEST_CASE("the perplexity of the held-out text is the reference's within 0.1 percent") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    const fs::path folder = originals() / name;
    if (!fs::exists(folder / "oracle/heldout.txt")) {
      MESSAGE("skipped: no original of " << std::string(name) << " (set LANNER_TALE_MODELS)");
      continue;
    }
    CAPTURE(name);
    const LoadedModel model(folder, {.isa = detect_isa(), .kv_type = device::KvType::kF32});
    device::Stream stream(device::cpu_kernels(detect_isa()), 2);
    std::ifstream file(folder / "oracle/heldout.txt", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto oracle = io::load_json(folder / "oracle/perplexity.json");
    const auto ids = model.tokenizer().encode(text);
    CHECK(ids.size() == oracle["ids"].get<std::size_t>());
    const Perplexity got =
        measure_perplexity(model, stream, {.ids = ids, .chunk = oracle["chunk"].get<std::size_t>()});
    CHECK(got.scored_tokens == oracle["fp32"]["tokens"].get<std::size_t>());
    const double want = oracle["fp32"]["perplexity"].get<double>();
    CHECK(std::abs(got.value() / want - 1) <= 1e-3);
  }
}

}  // namespace lanner::engine
