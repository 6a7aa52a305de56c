// SPDX-License-Identifier: MIT
#include "device/ops.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"
#include "random.h"

namespace lanner::device {
namespace {

using test::random_normal;

Tensor tensor(std::vector<float>& values, const Shape& shape) {
  return {values.data(), DType::kF32, shape, DeviceKind::kCpu};
}

kernels::WeightView dense(const std::vector<float>& values, std::size_t rows, std::size_t columns) {
  return {.spec = {kernels::WeightFormat::kDense, DType::kF32, 32, 0},
          .rows = rows,
          .columns = columns,
          .data = values.data()};
}

}  // namespace

TEST_CASE("operations refuse operands whose shapes do not fit, in every build") {
  const Ops ops = cpu_ops(detect_isa());
  Stream stream(cpu_kernels(ops.isa), 1);
  std::vector<float> values(64);
  const Tensor a = tensor(values, {4, 8});
  const Tensor b = tensor(values, {8, 4});
  CHECK_THROWS_AS(ops.add(stream, a, a, b), Error);
  CHECK_THROWS_AS(ops.rms_norm(stream, a, b, {}, 1e-6F), Error);
  const auto weights = random_normal(32, 1);
  const Matrix w(dense(weights, 4, 8), nullptr, ops.isa);
  const LinearCall wrong{tensor(values, {4, 5}), &w};
  CHECK_THROWS_AS(ops.linear(stream, {&wrong, 1}, {.x = a}), Error);
}

TEST_CASE("a token id outside the table is refused and named") {
  const Ops ops = cpu_ops(detect_isa());
  Stream stream(cpu_kernels(ops.isa), 1);
  const auto weights = random_normal(32, 1);
  const Matrix table(dense(weights, 4, 8), nullptr, ops.isa);
  std::vector<float> values(8);
  for (TokenId bad : {-1, 4, 1000000}) {
    const std::vector<TokenId> ids = {bad};
    try {
      ops.embed(stream, tensor(values, {1, 8}), table, ids, 1);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInvalidArgument);
      CHECK(std::string(error.what()).find(std::to_string(bad)) != std::string::npos);
    }
  }
}

TEST_CASE("the largest logit is found wherever it stands, the first of equals, with any number of threads") {
  constexpr std::size_t kColumns = 40003;  // parts, blocks and lanes all end unevenly
  const Ops ops = cpu_ops(detect_isa());
  for (int threads : {1, 3}) {
    Stream stream(cpu_kernels(ops.isa), threads);
    for (std::size_t place :
         {std::size_t{0}, std::size_t{511}, std::size_t{16384}, std::size_t{32767}, kColumns - 1}) {
      std::vector<float> values = random_normal(2 * kColumns, 7);
      values[place] = 100;
      std::fill_n(values.begin() + kColumns, kColumns, -std::numeric_limits<float>::infinity());
      values[kColumns + place] = -5;
      for (std::size_t later = place + 1; later < kColumns; later += 9973) {
        values[later] = 100;
        values[kColumns + later] = -5;
      }
      std::vector<TokenId> found(2);
      ops.argmax(stream, found, tensor(values, {2, kColumns}));
      CAPTURE(place);
      CHECK(found == std::vector<TokenId>(2, static_cast<TokenId>(place)));
    }
  }
}

TEST_CASE("routed experts equal the sum formed by hand, whatever rows share the call") {
  constexpr std::size_t kExperts = 5;
  constexpr std::size_t kHidden = 32;
  constexpr std::size_t kWidth = 16;
  constexpr std::size_t kRows = 9;
  constexpr std::size_t kTop = 2;
  for (Isa isa : supported_isas()) {
    const Ops ops = cpu_ops(isa);
    Stream stream(cpu_kernels(isa), 2);
    Arena arena;
    std::vector<std::vector<float>> weights;
    const auto stack = [&](std::size_t out, std::size_t in, std::uint64_t seed) {
      std::vector<Matrix> matrices;
      for (std::size_t e = 0; e < kExperts; ++e) {
        weights.push_back(random_normal(out * in, seed + e));
        matrices.emplace_back(dense(weights.back(), out, in), nullptr, isa);
      }
      return matrices;
    };
    weights.reserve(3 * kExperts);
    const std::vector<Matrix> gate = stack(kWidth, kHidden, 10);
    const std::vector<Matrix> up = stack(kWidth, kHidden, 20);
    const std::vector<Matrix> down = stack(kHidden, kWidth, 30);
    auto x = random_normal(kRows * kHidden, 3);
    std::vector<std::int32_t> experts;
    std::vector<float> shares;
    for (std::size_t t = 0; t < kRows; ++t) {
      experts.push_back(static_cast<std::int32_t>(t % 3));
      experts.push_back(static_cast<std::int32_t>(3 + t % 2));
      shares.push_back(0.75F);
      shares.push_back(0.25F);
    }
    const auto run = [&](std::size_t begin, std::size_t rows) {
      std::vector<float> out(rows * kHidden);
      const Shape shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(kHidden)};
      ops.experts(stream, arena,
                  {.out = tensor(out, shape),
                   .x = {x.data() + begin * kHidden, DType::kF32, shape, DeviceKind::kCpu},
                   .experts = std::span(experts).subspan(begin * kTop, rows * kTop),
                   .weights = std::span(shares).subspan(begin * kTop, rows * kTop),
                   .gate = gate,
                   .up = up,
                   .down = down,
                   .activation = GatedActivation::kSilu});
      return out;
    };
    const auto whole = run(0, kRows);
    std::vector<float> single;
    for (std::size_t t = 0; t < kRows; ++t) {
      const auto row = run(t, 1);
      single.insert(single.end(), row.begin(), row.end());
    }
    CHECK(whole == single);
    for (std::size_t t = 0; t < kRows; ++t)
      for (std::size_t i = 0; i < kHidden; ++i) {
        double want = 0;
        for (std::size_t k = 0; k < kTop; ++k) {
          const auto e = static_cast<std::size_t>(experts[t * kTop + k]);
          for (std::size_t f = 0; f < kWidth; ++f) {
            double g = 0;
            double u = 0;
            for (std::size_t j = 0; j < kHidden; ++j) {
              g += double(weights[e][f * kHidden + j]) * double(x[t * kHidden + j]);
              u += double(weights[kExperts + e][f * kHidden + j]) * double(x[t * kHidden + j]);
            }
            want += double(shares[t * kTop + k]) * double(weights[2 * kExperts + e][i * kWidth + f]) * g /
                    (1 + std::exp(-g)) * u;
          }
        }
        CHECK(double(whole[t * kHidden + i]) == doctest::Approx(want).epsilon(1e-4).scale(10));
      }
  }
}

}  // namespace lanner::device
