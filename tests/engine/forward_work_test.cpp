// SPDX-License-Identifier: MIT
#include "engine/forward_work.h"

#include <doctest/doctest.h>

#include "core/thread_pool.h"
#include "engine/loaded_model.h"

namespace lanner::engine {
namespace {

const models::Model& tale(const char* name) {
  static const LoadedModel gemma(std::filesystem::path(LANNER_MODELS_DIR) / "tale-gemma4",
                                 {.isa = Isa::kReference});
  static const LoadedModel qwen(std::filesystem::path(LANNER_MODELS_DIR) / "tale-qwen3_5",
                                {.isa = Isa::kReference});
  return (std::string_view(name) == "gemma" ? gemma : qwen).model();
}

}  // namespace

TEST_CASE("forward work: a decode step reads every weight that is multiplied once, and its states") {
  // tale-qwen3_5: matrices of 4.5 bits, the table once as head.
  const double matrices = 6 * (256.0 * (512 + 256 + 4 + 4) + 256 * 256) +
                          2 * 256.0 * (512 + 128 + 128 + 256) + 8 * 3 * 256.0 * 1024 + 8192.0 * 256;
  const double small = 6 * (512.0 * 4 * 2 + 4 * 4 + 4 * 2);  // convolutions, A_log, dt_bias
  const double states = 6 * 4 * 64.0 * 64 * 4;
  const ForwardWork work = forward_work(tale("qwen"), {});
  CHECK(work.read_bytes == doctest::Approx(matrices * 4.5 / 8 + small + states).epsilon(0.002));
  CHECK(work.product_ops == doctest::Approx(2 * matrices).epsilon(0.01));
}

TEST_CASE("forward work: prompt rows nobody wants end at the last layer that owns keys, and form no logits") {
  const ForwardWork all = forward_work(tale("gemma"), {.rows = 100, .wanted = 100});
  const ForwardWork last = forward_work(tale("gemma"), {.rows = 100, .wanted = 1});
  const ForwardWork none = forward_work(tale("gemma"), {.rows = 100, .wanted = 0});
  const ForwardWork unscored = forward_work(tale("gemma"), {.rows = 100, .wanted = 100, .scored = 1});
  CHECK(last.product_ops < all.product_ops / 2);
  CHECK(last.product_ops < unscored.product_ops);
  CHECK(unscored.product_ops < all.product_ops);
  CHECK(none.product_ops < last.product_ops);
  CHECK(last.read_bytes == all.read_bytes);
  CHECK(none.read_bytes < last.read_bytes);
}

TEST_CASE("forward work: keys and values grow with the depth up to the window, for each sequence") {
  const auto extra = [](std::size_t depth, std::size_t sequences) {
    const ForwardRows rows{.rows = sequences, .wanted = sequences, .sequences = sequences};
    ForwardRows deep = rows;
    deep.depth = depth;
    return forward_work(tale("gemma"), deep).read_bytes - forward_work(tale("gemma"), rows).read_bytes;
  };
  // 8 sliding layers of 2 heads of 64, window 128; 2 full ones of 2 heads of 128.
  CHECK(extra(100, 1) == doctest::Approx(100 * 4.0 * 2 * (8 * 2 * 64 + 2 * 2 * 128)));
  CHECK(extra(1000, 1) == doctest::Approx(4.0 * 2 * (128 * 8 * 2 * 64 + 1000 * 2 * 2 * 128)));
  CHECK(extra(100, 3) == doctest::Approx(3 * extra(100, 1)));
}

TEST_CASE("roofline: the slower of reading and multiplying is the bound") {
  const ForwardWork work{.read_bytes = 100, .product_ops = 30};
  CHECK(work.bound_seconds({.read_bytes_per_second = 10, .int8_ops_per_second = 10}) == doctest::Approx(10));
  CHECK(work.bound_seconds({.read_bytes_per_second = 100, .int8_ops_per_second = 10}) == doctest::Approx(3));
}

}  // namespace lanner::engine
