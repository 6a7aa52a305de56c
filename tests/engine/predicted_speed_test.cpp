// SPDX-License-Identifier: MIT
#include "engine/predicted_speed.h"

#include <doctest/doctest.h>

#include "core/thread_pool.h"
#include "engine/loaded_model.h"
#include "models/model_registry.h"

namespace lanner::engine {
namespace {

struct Predicted {
  double prompt = 0;
  double with_fast_int8 = 0;  ///< the same on a machine with ten times the int8 products
};

Predicted prompt_speed(const std::filesystem::path& folder, Isa isa) {
  const io::Checkpoint checkpoint(folder);
  const device::Ops ops = device::cpu_ops(Isa::kReference, device::Compute::kExact);
  ThreadPool pool(1);
  const auto model = models::load_model(checkpoint, {.ops = ops, .pool = pool});
  const auto speed = [&](double int8_ops) {
    return predict_speed(
               *model, cache_spec(checkpoint, *model, std::nullopt),
               {.read_bytes_per_second = 1e15, .float_ops_per_second = 2e11, .int8_ops_per_second = int8_ops},
               {.compute = device::Compute::kInt8, .isa = isa})
        .prompt;
  };
  return {speed(1e12), speed(1e13)};
}

}  // namespace

TEST_CASE("predicted speed: only storages with int8 products gain from a machine that is fast at them") {
  const Predicted four_bits =
      prompt_speed(std::filesystem::path(LANNER_MODELS_DIR) / "tale-qwen3_5", Isa::kAvx2);
  CHECK(four_bits.with_fast_int8 > 5 * four_bits.prompt);
  const Predicted dense = prompt_speed(
      std::filesystem::path(LANNER_GOLDEN_DIR) / "models/qwen3_5/q2_dense_grouped_untied", Isa::kAvx2);
  CHECK(dense.prompt > 0);
  CHECK(dense.with_fast_int8 == doctest::Approx(dense.prompt).epsilon(0.001));
}

}  // namespace lanner::engine
