// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "cli/command_run.h"
#include "io/safetensors_file.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

std::vector<float> floats(const io::TensorEntry& entry) {
  REQUIRE(entry.dtype == DType::kF32);
  std::vector<float> values(entry.bytes.size() / sizeof(float));
  std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  return values;
}

std::string joined_ids(const io::TensorEntry& entry) {
  std::vector<std::int32_t> ids(entry.bytes.size() / sizeof(std::int32_t));
  std::memcpy(ids.data(), entry.bytes.data(), entry.bytes.size());
  std::string text;
  for (const std::int32_t id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(double(a[i]) - double(b[i])));
  return largest;
}

bool same_bytes(const io::TensorEntry& a, const io::TensorEntry& b) {
  return a.bytes.size() == b.bytes.size() && std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

constexpr const char* kModels[] = {"gemma4/g1_e_ple_kvshare", "gemma4/g3_moe",
                                   "qwen3_5/q2_dense_grouped_untied", "qwen3_5/q3_moe"};

}  // namespace

TEST_CASE("logits writes the reference's logits and hidden states") {
  const io::TemporaryFolder folder;
  for (const char* name : kModels) {
    CAPTURE(name);
    const auto model = golden_model(name);
    const io::SafetensorsFile oracle(model / "oracle.safetensors");
    const std::string out = folder.path() / "out.safetensors";
    const CommandRun run = lanner({"logits", model, "--ids", joined_ids(oracle.require("prompt70.ids")), "-o",
                                   out, "--hidden", "--compute", "exact"});
    CAPTURE(run.log);
    REQUIRE(run.exit_code == 0);
    CHECK(run.out.empty());
    const io::SafetensorsFile file(out);
    const auto want = floats(oracle.require("prompt70.logits"));
    // Tolerances of the fixtures' README for a float32 engine.
    CHECK(largest_difference(floats(file.require("logits")), want) <= 2e-3);
    CHECK(largest_difference(floats(file.require("hidden.0")), floats(oracle.require("prompt70.embed"))) <=
          1e-4);
    CHECK(file.find("hidden.1") != nullptr);
    CHECK(file.require("final_norm").shape == oracle.require("prompt70.final_norm").shape);
    CHECK(largest_difference(floats(file.require("final_norm")),
                             floats(oracle.require("prompt70.final_norm"))) <= 2e-3);
  }
}

TEST_CASE("logits does not depend on the chunk or the number of threads") {
  const io::TemporaryFolder folder;
  for (const char* name : kModels) {
    CAPTURE(name);
    const auto model = golden_model(name);
    const std::string ids =
        joined_ids(io::SafetensorsFile(model / "oracle.safetensors").require("prompt70.ids"));
    const std::string whole = folder.path() / "whole.safetensors";
    REQUIRE(lanner({"logits", model, "--ids", ids, "-o", whole, "--hidden", "-t", "1"}).exit_code == 0);
    const io::SafetensorsFile want(whole);
    for (const char* chunk : {"1", "7", "64"}) {
      CAPTURE(chunk);
      const std::string out = folder.path() / "out.safetensors";
      REQUIRE(lanner({"logits", model, "--ids", ids, "-o", out, "--hidden", "--chunk", chunk, "-t", "2"})
                  .exit_code == 0);
      const io::SafetensorsFile got(out);
      for (const io::TensorEntry& entry : want.tensors()) {
        CAPTURE(entry.name);
        CHECK(same_bytes(got.require(entry.name), entry));
      }
    }
  }
}

TEST_CASE("logits refuses ids outside the vocabulary and leaves no file") {
  const io::TemporaryFolder folder;
  const std::string out = folder.path() / "out.safetensors";
  const CommandRun run = lanner({"logits", golden_model("gemma4/g3_moe"), "--ids", "1,99999999", "-o", out});
  CHECK(run.exit_code == 5);
  CHECK(is_one_error_line(run.log));
  CHECK(run.log.find("99999999") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("logits says when the output cannot be written") {
  const CommandRun run =
      lanner({"logits", golden_model("gemma4/g3_moe"), "--ids", "1", "-o", "/nonexistent/out.safetensors"});
  CHECK(run.exit_code == 3);
  CHECK(is_one_error_line(run.log));
}

}  // namespace lanner::test
