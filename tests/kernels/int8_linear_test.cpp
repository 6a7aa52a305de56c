// SPDX-License-Identifier: MIT
#include "kernels/linear/int8_linear.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "core/cpu_features.h"
#include "kernels/linear/linear.h"
#include "kernels/linear/weight_element.h"
#include "kernels/linear_cases.h"
#include "random.h"

namespace lanner::kernels {
namespace {

using test::random_normal;

using test::RandomWeight;

/// A random matrix and its packed form.
struct Case {
  RandomWeight source;
  WeightSpec spec;
  std::size_t rows;
  Buffer packed;

  Case(const WeightSpec& format, std::size_t n, std::size_t columns)
      : source(format, n, columns, 1), spec(format), rows(n), packed(packed_bytes(format, n, columns)) {
    pack_tiles(packed.data(), weight(), 0, view().tiles());
  }

  std::size_t columns() const { return weight().columns; }
  std::size_t group() const { return static_cast<std::size_t>(spec.group); }
  const WeightView& weight() const { return source.view(); }
  PackedView view() const {
    return {.spec = spec, .rows = rows, .columns = columns(), .data = packed.data()};
  }
};

struct Activations {
  std::vector<std::int8_t> codes;
  std::vector<float> scales;
  std::vector<float> sums;
  std::vector<std::int32_t> offsets;
  std::size_t columns;
  std::size_t groups;

  Activations(QuantizeRowsFn* quantize, std::span<const float> x, std::size_t k, std::size_t group)
      : codes(x.size()),
        scales(x.size() / group),
        sums(scales.size()),
        offsets(scales.size()),
        columns(k),
        groups(k / group) {
    quantize({codes.data(), scales.data(), sums.data(), offsets.data()}, x.data(), x.size() / k, k, group);
  }
  QuantizedRows view() const {
    return {codes.data(), scales.data(), sums.data(), offsets.data(), columns, groups};
  }
};

/// Tiles [0, split) and then the others.
std::vector<float> multiply(const Case& weights, const Int8Kernels& kernels, std::span<const float> x,
                            std::size_t split = 0) {
  const Activations activations(kernels.quantize_rows, x, weights.columns(), weights.group());
  const std::size_t rows = x.size() / weights.columns();
  std::vector<float> out(rows * weights.rows, -1);
  const PackedView w = weights.view();
  kernels.linear(w, activations.view(), out.data(), weights.rows, rows, 0, split);
  kernels.linear(w, activations.view(), out.data(), weights.rows, rows, split, w.tiles());
  return out;
}

/// The versions this machine runs, the reference first; AVX2's with each way to read weights.
std::vector<Int8Kernels> versions(const WeightSpec& spec) {
  std::vector<Int8Kernels> all;
  for (Isa isa : supported_isas()) all.push_back(find_int8_kernels(spec, isa));
#if defined(__x86_64__)
  if (cpu_supports(Isa::kAvx2))
    for (WeightStreams streams : {WeightStreams::kOne, WeightStreams::kFour})
      all.push_back(int8_kernels_avx2(spec, streams));
#endif
  return all;
}

template <typename Check>
void for_each_format(Check&& check) {
  for (const WeightSpec& spec : test::all_weight_specs()) {
    if (!is_packable(spec)) continue;
    CAPTURE(test::to_string(spec));
    check(spec);
  }
}

}  // namespace

TEST_CASE("int8 products: affine formats, mxfp4 and nvfp4 have a packed form, others none") {
  std::size_t formats = 0;
  for_each_format([&](const WeightSpec&) { ++formats; });
  CHECK(formats == 3 * 6 * 3 + 2);
  CHECK_FALSE(is_packable({WeightFormat::kDense, DType::kBF16, 16, 0}));
  CHECK_FALSE(is_packable({WeightFormat::kMxfp8, DType::kU8, 8, 32}));
}

TEST_CASE("int8 products: every version gives the reference's bits, for any rows, in every format") {
  constexpr std::size_t kColumns = 384;
  constexpr std::size_t kRows = 19;
  const auto x = random_normal(kRows * kColumns, 4);
  for_each_format([&](const WeightSpec& spec) {
    const Case weights(spec, 173, kColumns);
    const auto all = versions(spec);
    const auto want = multiply(weights, all.front(), x);
    for (const Int8Kernels& version : all) {
      CHECK(multiply(weights, version, x) == want);
      for (std::size_t rows = 1; rows <= 9; ++rows) {
        const auto got = multiply(weights, version, std::span(x).subspan((kRows - rows) * kColumns));
        CHECK(std::equal(got.begin(), got.end(),
                         want.end() - static_cast<std::ptrdiff_t>(rows * weights.rows)));
      }
    }
  });
}

TEST_CASE(
    "int8 products of mxfp4 and nvfp4: the reference's bits at any size, for 1 to 64 rows, in any split") {
  for (const WeightSpec& spec : {WeightSpec{WeightFormat::kMxfp4, DType::kU8, 4, 32},
                                 WeightSpec{WeightFormat::kNvfp4, DType::kU8, 4, 16}})
    for (const std::size_t groups : {1, 3, 5, 20})
      for (const std::size_t outputs : {1, 16, 17, 64, 101}) {
        CAPTURE(test::to_string(spec));
        CAPTURE(groups);
        CAPTURE(outputs);
        const std::size_t columns = groups * static_cast<std::size_t>(spec.group);
        const Case weights(spec, outputs, columns);
        const auto x = random_normal(64 * columns, 4);
        auto all = versions(spec);
        const auto want = multiply(weights, all.front(), x);
        all.erase(all.begin());
        for (const Int8Kernels& version : all)
          for (std::size_t rows = 1; rows <= 64; ++rows) {
            const auto got = multiply(weights, version, std::span(x).first(rows * columns),
                                      rows % (weights.view().tiles() + 1));
            CHECK(std::equal(got.begin(), got.end(), want.begin()));
          }
      }
}

TEST_CASE("int8 products of mxfp4 and nvfp4 decode every element and scale") {
  for (const WeightSpec& spec : {WeightSpec{WeightFormat::kMxfp4, DType::kU8, 4, 32},
                                 WeightSpec{WeightFormat::kNvfp4, DType::kU8, 4, 16}}) {
    const auto group = static_cast<std::size_t>(spec.group);
    std::vector<std::uint8_t> data(16 * group / 2);
    std::vector<std::uint8_t> scales(16);
    Buffer packed(packed_bytes(spec, 16, group));
    const WeightView w{
        .spec = spec, .rows = 16, .columns = group, .data = data.data(), .scales = scales.data()};
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<std::uint8_t>((2 * i % 16) | (2 * i + 1) % 16 << 4);
    // Above, 254 times the largest element overflows.
    const int codes = spec.format == WeightFormat::kMxfp4 ? 240 : 256;
    for (int code = 0; code < codes; ++code) {
      scales.assign(16, static_cast<std::uint8_t>(code));
      pack_tiles(packed.data(), w, 0, 1);
      for (const Int8Kernels& version : versions(spec))
        for (std::size_t k = 0; k < group; ++k) {
          std::vector<float> x(group, 0.0F);
          x[k] = 254.0F;  // code 127, scale 2
          const Activations input(version.quantize_rows, x, group, group);
          std::vector<float> out(16);
          version.linear({.spec = spec, .rows = 16, .columns = group, .data = packed.data()}, input.view(),
                         out.data(), 16, 1, 0, 1);
          std::size_t wrong = 0;
          for (std::size_t n = 0; n < 16; ++n) wrong += out[n] != 254 * weight_element(w, n, k) ? 1U : 0U;
          CAPTURE(test::to_string(spec));
          CAPTURE(code);
          CAPTURE(k);
          CHECK(wrong == 0);
        }
    }
  }
}

TEST_CASE("int8 products differ from float ones by no more than half a step of each activation") {
  constexpr std::size_t kColumns = 256;
  const auto x = random_normal(3 * kColumns, 5);
  for_each_format([&](const WeightSpec& spec) {
    const Case weights(spec, 33, kColumns);
    const auto got = multiply(weights, versions(spec).back(), x);
    const auto exact = find_linear_kernels(spec, Isa::kReference);
    REQUIRE(exact.has_value());
    std::vector<float> row(kColumns);
    const std::size_t group = weights.group();
    for (std::size_t n = 0; n < weights.rows; ++n) {
      exact->dequantize_row(row.data(), weights.weight(), n);
      for (std::size_t r = 0; r < 3; ++r) {
        double want = 0;
        double bound = 0;
        for (std::size_t k = 0; k < kColumns; ++k) {
          const float* values = x.data() + r * kColumns;
          double largest = 0;
          for (std::size_t i = k / group * group; i < (k / group + 1) * group; ++i)
            largest = std::max(largest, std::abs(double(values[i])));
          want += double(values[k]) * double(row[k]);
          // Half a step of rounding, and the float part: a few roundings of each group's sums.
          bound += std::abs(double(row[k])) * largest / 127 * 0.5 + 1e-5 * largest;
        }
        CHECK(std::abs(double(got[r * weights.rows + n]) - want) <= bound);
      }
    }
  });
}

TEST_CASE("extreme codes and activations do not overflow the 16-bit sums") {
  constexpr std::size_t kColumns = 128;
  for_each_format([&](const WeightSpec& spec) {
    // The largest code: all bits, but 6 among the elements of fp4, in both nibbles.
    const auto code = static_cast<std::uint8_t>(spec.format == WeightFormat::kAffine ? 0xff : 0x77);
    const std::vector<std::uint8_t> data(kPackedTileRows * kColumns, code);
    const RandomWeight tables(spec, kPackedTileRows, kColumns, 1);
    WeightView w = tables.view();
    w.data = data.data();
    Case weights(spec, kPackedTileRows, kColumns);
    pack_tiles(weights.packed.data(), w, 0, 1);
    for (const float sign : {1.0F, -1.0F}) {
      const std::vector<float> x(kColumns, sign);
      const auto all = versions(spec);
      const auto want = multiply(weights, all.front(), x);
      for (const Int8Kernels& version : all) CHECK(multiply(weights, version, x) == want);
    }
  });
}

TEST_CASE("activations are rounded to the nearest of 255 steps, zeros stay zeros") {
  for (const std::size_t group : {16, 32})
    for (Isa isa : supported_isas()) {
      const Int8Kernels kernels = find_int8_kernels({WeightFormat::kAffine, DType::kBF16, 4, 32}, isa);
      std::vector<float> x(64, 0.0F);
      x[0] = -2.54F;
      x[1] = 1.0F;
      x[2] = 0.01F;
      const Activations got(kernels.quantize_rows, x, 64, group);
      CHECK(got.codes[0] == -127);
      CHECK(got.codes[1] == 50);
      CHECK(got.codes[2] == 0);
      CHECK(got.scales[0] == doctest::Approx(0.02));
      CHECK(got.sums[0] == got.scales[0] * -77);
      CHECK(got.offsets[0] == kFp4Zero * 77);
      CHECK(got.scales[1] == 0);
      CHECK(got.sums[1] == 0);
      CHECK(got.offsets[1] == 0);
    }
}

TEST_CASE("activations: every version gives the reference's bits, for every group size") {
  constexpr std::size_t kColumns = 384;
  const auto x = random_normal(3 * kColumns, 6);
  const auto all = versions({WeightFormat::kAffine, DType::kBF16, 4, 32});
  for (const std::size_t group : {16, 32, 64, 128}) {
    const Activations want(all.front().quantize_rows, x, kColumns, group);
    for (const Int8Kernels& version : all) {
      const Activations got(version.quantize_rows, x, kColumns, group);
      CAPTURE(group);
      CHECK(got.codes == want.codes);
      CHECK(got.scales == want.scales);
      CHECK(got.sums == want.sums);
      CHECK(got.offsets == want.offsets);
    }
  }
}

}  // namespace lanner::kernels
