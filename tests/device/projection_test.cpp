// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <vector>

#include "device/affine_weight.h"
#include "device/ops.h"
#include "random.h"

namespace lanner::device {
namespace {

using test::AffineWeight;
using test::random_normal;

constexpr std::size_t kColumns = AffineWeight::kColumns;

Tensor tensor(std::vector<float>& values, std::size_t rows) {
  return {values.data(),
          DType::kF32,
          {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(values.size() / rows)},
          DeviceKind::kCpu};
}

}  // namespace

TEST_CASE("products of one input, packed and not, give each row the same bits with any rows and threads") {
  const AffineWeight a(45, 4, 64, 1);
  const AffineWeight b(16, 5, 32, 2);
  const AffineWeight c(130, 8, 128, 3);
  const auto plain = random_normal(21 * kColumns, 4);
  const kernels::WeightView dense{.spec = {kernels::WeightFormat::kDense, DType::kF32, 32, 0},
                                  .rows = 21,
                                  .columns = kColumns,
                                  .data = plain.data()};
  auto x = random_normal(64 * kColumns, 5);
  for (Isa isa : supported_isas()) {
    CAPTURE(name(isa));
    const Ops ops = cpu_ops(isa);
    std::vector<std::vector<float>> first;  // by matrix, 64 rows from one call
    for (int threads : {1, 2, 3, 4}) {
      Stream stream(cpu_kernels(isa), threads);
      const std::vector<Matrix> matrices = {a.matrix(isa, stream.pool()), b.matrix(isa, stream.pool()),
                                            c.matrix(isa, stream.pool()), Matrix(dense, nullptr, isa)};
      const auto run = [&](std::size_t begin, std::size_t rows) {
        std::vector<std::vector<float>> outs;
        std::vector<LinearCall> calls;
        for (const Matrix& w : matrices) outs.emplace_back(rows * w.rows());
        for (std::size_t i = 0; i < matrices.size(); ++i)
          calls.push_back({tensor(outs[i], rows), &matrices[i]});
        ops.linear(stream, calls,
                   {.x = {x.data() + begin * kColumns,
                          DType::kF32,
                          {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(kColumns)},
                          DeviceKind::kCpu}});
        return outs;
      };
      if (first.empty()) first = run(0, 64);
      for (std::size_t rows : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 13U, 32U, 64U}) {
        CAPTURE(rows);
        const std::size_t begin = 64 - rows;
        const auto got = run(begin, rows);
        for (std::size_t i = 0; i < matrices.size(); ++i) {
          const std::size_t n = matrices[i].rows();
          CHECK(std::equal(got[i].begin(), got[i].end(),
                           first[i].begin() + static_cast<std::ptrdiff_t>(begin * n)));
        }
      }
    }
  }
}

TEST_CASE("a fused gate and up equals its parts bit for bit") {
  const AffineWeight gate_weight(150, 4, 64, 6);
  const AffineWeight up_weight(150, 6, 32, 7);
  auto x = random_normal(9 * kColumns, 8);
  for (Isa isa : supported_isas())
    for (std::size_t rows : {1U, 4U, 9U}) {
      CAPTURE(name(isa));
      CAPTURE(rows);
      const Ops ops = cpu_ops(isa);
      Stream stream(cpu_kernels(isa), 3);
      const Matrix gate = gate_weight.matrix(isa, stream.pool());
      const Matrix up = up_weight.matrix(isa, stream.pool());
      const Tensor in{x.data(),
                      DType::kF32,
                      {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(kColumns)},
                      DeviceKind::kCpu};
      std::vector<float> g(rows * 150);
      std::vector<float> u(rows * 150);
      std::vector<float> fused(rows * 150);
      const std::vector<LinearCall> calls = {{tensor(g, rows), &gate}, {tensor(u, rows), &up}};
      ops.linear(stream, calls, {.x = in});
      ops.gated_activation(stream, tensor(g, rows), tensor(g, rows), tensor(u, rows), GatedActivation::kSilu);
      ops.gated_linear(stream, tensor(fused, rows), gate, up, {.x = in}, GatedActivation::kSilu);
      CHECK(fused == g);
    }
}

}  // namespace lanner::device
