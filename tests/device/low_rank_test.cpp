// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "compare.h"
#include "core/float_convert.h"
#include "device/ops.h"
#include "random.h"

namespace lanner::device {
namespace {

using test::random_normal;

/// A random dense matrix; keeps its memory.
struct Dense {
  std::vector<float> values;
  std::vector<std::uint16_t> halves;  ///< the same, when stored as bfloat16
  Matrix matrix;

  Dense(std::size_t rows, std::size_t columns, DType dtype, Isa isa, std::uint64_t seed)
      : values(random_normal(rows * columns, seed)) {
    const bool small = dtype == DType::kBF16;
    for (float& value : values) {
      if (!small) continue;
      value = round_to_bf16(value);
      halves.push_back(float_to_bf16(value));
    }
    const kernels::WeightSpec spec{kernels::WeightFormat::kDense, dtype, small ? 16 : 32, 0};
    const void* data = small ? static_cast<const void*>(halves.data()) : values.data();
    matrix = Matrix({.spec = spec, .rows = rows, .columns = columns, .data = data}, nullptr, isa);
  }
};

Tensor tensor(std::vector<float>& values, std::size_t rows) {
  return {values.data(),
          DType::kF32,
          {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(values.size() / rows)},
          DeviceKind::kCpu};
}

/// out[t, n] += sum over parts of scale * sum_r (sum_k x[t, k] a[r, k]) b[n, r], in double.
void reference(std::vector<double>& out, const std::vector<float>& x, std::size_t rows, const Dense& a,
               const Dense& b, float scale) {
  const std::size_t columns = a.matrix.columns(), rank = a.matrix.rows(), outputs = b.matrix.rows();
  for (std::size_t t = 0; t < rows; ++t)
    for (std::size_t r = 0; r < rank; ++r) {
      double z = 0;
      for (std::size_t k = 0; k < columns; ++k) z += double(x[t * columns + k]) * a.values[r * columns + k];
      for (std::size_t n = 0; n < outputs; ++n) out[t * outputs + n] += scale * z * b.values[n * rank + r];
    }
}

}  // namespace

TEST_CASE("a low-rank addition matches a double reference at any rank, size and type") {
  for (Isa isa : supported_isas())
    for (DType dtype : {DType::kF32, DType::kBF16})
      for (std::size_t rank : {1U, 3U, 8U, 16U, 130U})
        for (std::size_t rows : {1U, 5U, 40U}) {
          CAPTURE(name(isa));
          CAPTURE(name(dtype));
          CAPTURE(rank);
          CAPTURE(rows);
          constexpr std::size_t kColumns = 77, kOutputs = 300;
          const Ops ops = cpu_ops(isa);
          Stream stream(ops, 2);
          const Dense a(rank, kColumns, dtype, isa, 1), b(kOutputs, rank, dtype, isa, 2);
          const Dense a2(4, kColumns, dtype, isa, 3), b2(kOutputs, 4, dtype, isa, 4);
          std::vector<float> x = random_normal(rows * kColumns, 5);
          std::vector<float> out = random_normal(rows * kOutputs, 6);
          std::vector<double> want(out.begin(), out.end());
          reference(want, x, rows, a, b, 0.5F);
          reference(want, x, rows, a2, b2, -2.0F);
          const std::vector<LowRank> parts = {{&a.matrix, &b.matrix, 0.5F}, {&a2.matrix, &b2.matrix, -2.0F}};
          const LowRankCall call{tensor(out, rows), tensor(x, rows), parts};
          ops.add_low_rank(stream, {&call, 1});
          const std::vector<float> expected(want.begin(), want.end());
          // Two sums of products, the first of which the second multiplies.
          CHECK(test::max_scaled_error(out, expected) <= double(kColumns + rank + 8) * 0x1p-24);
        }
}

TEST_CASE("a low-rank addition gives each row the same bits with any rows, calls and threads") {
  for (Isa isa : supported_isas()) {
    CAPTURE(name(isa));
    constexpr std::size_t kColumns = 130, kOutputs = 261, kRank = 9, kRows = 70;
    const Ops ops = cpu_ops(isa);
    const Dense a(kRank, kColumns, DType::kF32, isa, 1), b(kOutputs, kRank, DType::kF32, isa, 2);
    const Dense other_b(45, kRank, DType::kF32, isa, 3);
    std::vector<float> x = random_normal(kRows * kColumns, 5);
    const std::vector<float> base = random_normal(kRows * kOutputs, 6);
    const LowRank part{&a.matrix, &b.matrix, 0.25F}, other{&a.matrix, &other_b.matrix, 1};
    std::vector<float> want = base;
    {
      Stream stream(ops, 1);
      for (std::int64_t row = 0; row < static_cast<std::int64_t>(kRows); ++row) {
        const LowRankCall call{
            tensor(want, kRows).slice(row, row + 1), tensor(x, kRows).slice(row, row + 1), {&part, 1}};
        ops.add_low_rank(stream, {&call, 1});
      }
    }
    for (int threads : {1, 3})
      for (std::int64_t cut : {1, 33, 69}) {
        Stream stream(ops, threads);
        std::vector<float> out = base;
        std::vector<float> beside(kRows * 45);
        const Tensor all = tensor(out, kRows), in = tensor(x, kRows);
        const std::vector<LowRankCall> calls = {{all.slice(0, cut), in.slice(0, cut), {&part, 1}},
                                                {tensor(beside, kRows), in, {&other, 1}},
                                                {all.slice(cut, kRows), in.slice(cut, kRows), {&part, 1}}};
        ops.add_low_rank(stream, calls);
        CHECK(out == want);
      }
  }
}

}  // namespace lanner::device
