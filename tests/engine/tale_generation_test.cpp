// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/error.h"
#include "engine/generation.h"
#include "engine/perplexity.h"
#include "io/json.h"

namespace lanner::engine {
namespace {

namespace fs = std::filesystem;

fs::path originals() {
  const char* variable = std::getenv("LANNER_TALE_MODELS");
  return variable != nullptr ? fs::path(variable) : fs::path(LANNER_TALE_ORIGINALS);
}

std::vector<TokenId> generate(const LoadedModel& model, device::Stream& stream, GenerationRequest request) {
  Generation generation(model, stream, std::move(request));
  std::vector<TokenId> tokens;
  while (const auto token = generation.next()) tokens.push_back(*token);
  return tokens;
}

/// The embedded model of a family.
fs::path embedded(const std::string& name) { return fs::path(LANNER_MODELS_DIR) / name; }

}  // namespace

TEST_CASE("the perplexity of the held-out text is the reference's within 0.1 percent") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    const fs::path folder = originals() / name;
    if (!fs::exists(folder / "oracle/heldout.txt")) {
      MESSAGE("skipped: no original of " << name << " (set LANNER_TALE_MODELS)");
      continue;
    }
    CAPTURE(name);
    const LoadedModel model(folder, {.isa = detect_isa()});
    device::Stream stream(device::cpu_kernels(detect_isa()), 2);
    std::ifstream file(folder / "oracle/heldout.txt", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto oracle = io::load_json(folder / "oracle/perplexity.json");
    const auto ids = model.tokenizer().encode(text);
    CHECK(ids.size() == oracle["ids"].get<std::size_t>());
    const Perplexity got = measure_perplexity(model, stream, ids, oracle["chunk"].get<std::size_t>(), {});
    CHECK(got.scored_tokens == oracle["fp32"]["tokens"].get<std::size_t>());
    const double want = oracle["fp32"]["perplexity"].get<double>();
    CHECK(std::abs(got.value() / want - 1) <= 1e-3);
  }
}

TEST_CASE("the same seed gives the same text for any prompt chunk and thread count") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    CAPTURE(name);
    const LoadedModel model(embedded(name), {.isa = detect_isa()});
    GenerationRequest request{.prompt = model.encode_plain("Once upon a time there was a fox who"),
                              .sampling = {.temperature = 1, .top_k = 40, .seed = 5},
                              .max_tokens = 40};
    std::vector<TokenId> first;
    for (int threads : {1, 2})
      for (std::size_t chunk : {1U, 3U, 512U}) {
        device::Stream stream(device::cpu_kernels(detect_isa()), threads);
        request.chunk = chunk;
        const auto tokens = generate(model, stream, request);
        CHECK(tokens.size() == 40);
        if (first.empty()) first = tokens;
        CHECK(tokens == first);
      }
  }
}

TEST_CASE("a prompt longer than the context is refused with both numbers, an empty one too") {
  const LoadedModel model(embedded("tale-gemma4"), {.isa = detect_isa()});
  device::Stream stream(device::cpu_kernels(detect_isa()), 1);
  const std::size_t context = model.model().facts().context;
  try {
    Generation generation(model, stream, {.prompt = std::vector<TokenId>(context, 200)});
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInvalidArgument);
    CHECK(std::string(error.what()).find(std::to_string(context)) != std::string::npos);
  }
  CHECK_THROWS_AS(Generation(model, stream, {.prompt = {}}), Error);
}

TEST_CASE("a generation ends at the length limit, at the context's end, and when cancelled") {
  const LoadedModel model(embedded("tale-gemma4"), {.isa = detect_isa()});
  device::Stream stream(device::cpu_kernels(detect_isa()), 2);
  const auto prompt = model.encode_plain("Once upon a time");
  Generation limited(model, stream, {.prompt = prompt, .sampling = {.temperature = 0}, .max_tokens = 3});
  int tokens = 0;
  while (limited.next()) ++tokens;
  CHECK(tokens == 3);
  CHECK(limited.finish_reason() == FinishReason::kLength);
  CHECK_FALSE(limited.next().has_value());

  bool stop = false;
  Generation cancelled(model, stream, {.prompt = prompt, .cancelled = [&] { return stop; }});
  CHECK(cancelled.next().has_value());
  stop = true;
  CHECK_FALSE(cancelled.next().has_value());
  CHECK(cancelled.finish_reason() == FinishReason::kCancelled);
}

}  // namespace lanner::engine
