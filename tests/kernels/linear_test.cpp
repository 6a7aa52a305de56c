// SPDX-License-Identifier: MIT
#include "kernels/linear/linear.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "guarded.h"
#include "kernels/linear/weight_element.h"
#include "kernels/linear_cases.h"

namespace lanner::kernels {
namespace {

using test::Guarded;
using test::RandomWeight;

std::vector<Isa> fast_isas() {
  std::vector<Isa> isas = supported_isas();
  isas.erase(isas.begin());
  return isas;
}

/// One run over outputs [begin, end); the rest of the result stays the guard pattern.
struct Product {
  Product(const WeightView& w, Isa isa, const std::vector<float>& x, std::size_t x_stride, std::size_t rows,
          std::size_t begin, std::size_t end)
      : out(rows * out_stride(w)), out_stride_(out_stride(w)) {
    std::vector<float> scratch(linear_scratch_floats(w.columns), std::numeric_limits<float>::quiet_NaN());
    find_linear_kernels(w.spec, isa)
        ->linear(w, {.x = x.data(),
                     .x_stride = x_stride,
                     .out = out.data(),
                     .out_stride = out_stride_,
                     .rows = rows,
                     .column_begin = begin,
                     .column_end = end,
                     .scratch = scratch.data()});
  }
  static std::size_t out_stride(const WeightView& w) { return w.rows + 3; }
  float at(std::size_t row, std::size_t n) const { return out[row * out_stride_ + n]; }

  Guarded<float> out;
  std::size_t out_stride_;
};

std::vector<std::size_t> column_counts(const WeightSpec& spec) {
  if (spec.format == WeightFormat::kDense) return {1, 7, 8, 9, 31, 33, 100, 511, 512, 1037};
  const auto group = static_cast<std::size_t>(spec.group);
  return {group, 3 * group, 640, 1152};
}

void check_against_reference(const WeightView& w, Isa isa, std::size_t rows) {
  const std::size_t x_stride = w.columns + 5;
  const std::vector<float> x = test::random_normal(rows * x_stride, 11);
  const Product got(w, isa, x, x_stride, rows, 0, w.rows);
  const Product want(w, Isa::kReference, x, x_stride, rows, 0, w.rows);
  double worst = 0;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t n = 0; n < w.rows; ++n) {
      double magnitude = 0;
      for (std::size_t k = 0; k < w.columns; ++k)
        magnitude += std::abs(double(x[r * x_stride + k]) * weight_element(w, n, k));
      // A lane adds K/8 products, 4 additions join the lanes, 3 roundings make a weight and the result.
      const double tolerance = (double(w.columns) / 8 + 7) * 0x1p-24 * magnitude;
      const double error = std::abs(double(got.at(r, n)) - want.at(r, n));
      worst = std::max(worst, std::isnan(error) ? 1e9 : error / (tolerance + 1e-30));
    }
  CHECK(worst <= 1);
  CHECK(got.out.guards_intact());
}

TEST_CASE("linear: every version of every format matches the reference at any size") {
  for (const WeightSpec& spec : test::all_weight_specs())
    for (const std::size_t columns : column_counts(spec)) {
      const RandomWeight w(spec, 19, columns, 7);
      for (const Isa isa : fast_isas())
        for (const std::size_t rows : {1, 2, 3, 4, 5, 7, 10}) {
          CAPTURE(test::to_string(spec));
          CAPTURE(name(isa));
          CAPTURE(columns);
          CAPTURE(rows);
          check_against_reference(w.view(), isa, rows);
        }
    }
}

/// Rows and ranges of a product have the bits of the same row computed alone over all outputs.
void check_invariance(const WeightView& w, Isa isa, const std::vector<float>& x, std::size_t rows,
                      std::size_t begin, std::size_t end) {
  const Product whole(w, isa, x, w.columns, rows, begin, end);
  std::size_t differing = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<float> one(x.begin() + static_cast<std::ptrdiff_t>(r * w.columns),
                                 x.begin() + static_cast<std::ptrdiff_t>((r + 1) * w.columns));
    const Product alone(w, isa, one, w.columns, 1, 0, w.rows);
    const std::span<const float> got(&whole.out[r * whole.out_stride_ + begin], end - begin);
    const std::span<const float> want(&alone.out[begin], end - begin);
    differing += test::same_bits(got, want) ? 0 : 1;
  }
  CHECK(differing == 0);
  // Outputs outside the range keep the pattern.
  for (std::size_t n = 0; n < w.rows; ++n)
    if (n < begin || n >= end) CHECK(std::isnan(whole.at(rows - 1, n)));
}

TEST_CASE("linear: a row's bits depend neither on other rows nor on the output range") {
  for (const WeightSpec& spec : test::all_weight_specs()) {
    const bool dense = spec.format == WeightFormat::kDense;
    if (!dense && spec.group == 64 && spec.dtype != DType::kBF16) continue;  // the same code as group 32
    const std::size_t columns = dense ? 1037 : 640;
    const RandomWeight w(spec, 101, columns, 3);
    const std::vector<float> x = test::random_normal(140 * columns, 5);
    for (const Isa isa : fast_isas()) {
      CAPTURE(test::to_string(spec));
      CAPTURE(name(isa));
      for (const std::size_t rows : {1, 2, 3, 4, 5, 6, 7, 9, 16, 33}) {
        CAPTURE(rows);
        check_invariance(w.view(), isa, x, rows, 0, 101);
      }
      for (const std::size_t rows : {1, 3, 5, 8}) {
        CAPTURE(rows);
        check_invariance(w.view(), isa, x, rows, 16, 32);
        check_invariance(w.view(), isa, x, rows, 48, 101);
        check_invariance(w.view(), isa, x, rows, 99, 100);
      }
    }
  }
}

TEST_CASE("linear: one row equals the same row among 1 to 140 rows") {
  for (const WeightSpec& spec : {WeightSpec{WeightFormat::kDense, DType::kBF16, 16, 0},
                                 WeightSpec{WeightFormat::kAffine, DType::kBF16, 4, 64}}) {
    const RandomWeight w(spec, 53, 1152, 3);
    const std::vector<float> x = test::random_normal(140 * 1152, 5);
    for (const Isa isa : fast_isas()) {
      CAPTURE(name(isa));
      for (std::size_t rows = 1; rows <= 64; ++rows) check_invariance(w.view(), isa, x, rows, 0, 53);
      for (const std::size_t rows : {127, 128, 129, 140}) check_invariance(w.view(), isa, x, rows, 0, 53);
    }
  }
}

TEST_CASE("linear: no rows and empty ranges write nothing") {
  const RandomWeight w({WeightFormat::kAffine, DType::kBF16, 4, 64}, 20, 128, 3);
  const std::vector<float> x = test::random_normal(8 * 128, 5);
  for (const Isa isa : supported_isas()) {
    Product none(w.view(), isa, x, 128, 0, 0, 20);
    CHECK(none.out.guards_intact());
    for (const std::size_t rows : {1, 8}) {
      const Product empty(w.view(), isa, x, 128, rows, 16, 16);
      for (const float value : empty.out) CHECK(std::isnan(value));
    }
  }
}

TEST_CASE("dequantize_row: every version is within one rounding of the reference") {
  for (const WeightSpec& spec : test::all_weight_specs())
    for (const std::size_t columns : column_counts(spec)) {
      const RandomWeight w(spec, 3, columns, 23);
      for (const Isa isa : supported_isas()) {
        CAPTURE(test::to_string(spec));
        CAPTURE(name(isa));
        CAPTURE(columns);
        for (std::size_t row = 0; row < 3; ++row) {
          Guarded<float> got(columns, 1);
          find_linear_kernels(spec, isa)->dequantize_row(got.data(), w.view(), row);
          CHECK(got.guards_intact());
          double worst = 0;
          for (std::size_t k = 0; k < columns; ++k)
            worst = std::max(worst, std::abs(double(got[k]) - weight_element(w.view(), row, k)));
          // One unit in the last place of |scale * q| < 0.1 * 255 < 32. Other formats are exact.
          CHECK(worst <= (spec.format == WeightFormat::kAffine ? 0x1p-19 : 0.0));
        }
      }
    }
}

TEST_CASE("find_linear_kernels: formats outside the table have no kernels") {
  CHECK_FALSE(find_linear_kernels({WeightFormat::kAffine, DType::kBF16, 7, 64}, Isa::kReference));
  CHECK_FALSE(find_linear_kernels({WeightFormat::kAffine, DType::kBF16, 4, 16}, Isa::kReference));
  CHECK_FALSE(find_linear_kernels({WeightFormat::kAffine, DType::kU8, 4, 64}, Isa::kReference));
  CHECK_FALSE(find_linear_kernels({WeightFormat::kMxfp4, DType::kU8, 4, 64}, Isa::kReference));
  CHECK_FALSE(find_linear_kernels({WeightFormat::kDense, DType::kI32, 32, 0}, Isa::kReference));
}

}  // namespace
}  // namespace lanner::kernels
