// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>

#include "guarded.h"
#include "kernels/linear/linear.h"
#include "kernels/linear/weight_element.h"
#include "kernels/quant_fixture.h"

namespace lanner::kernels {
namespace {

using test::QuantFixture;
using test::QuantMode;

std::vector<float> product(const WeightView& w, Isa isa, const std::vector<float>& x, std::size_t rows) {
  std::vector<float> out(rows * w.rows);
  std::vector<float> scratch(linear_scratch_floats(w.columns));
  find_linear_kernels(w.spec, isa)
      ->linear(w, {.x = x.data(),
                   .x_stride = w.columns,
                   .out = out.data(),
                   .out_stride = w.rows,
                   .rows = rows,
                   .column_begin = 0,
                   .column_end = w.rows,
                   .scratch = scratch.data()});
  return out;
}

/// Largest |got - want| / sum_k |x_k| |w_k|.
double product_error(const WeightView& w, const std::vector<float>& x, const std::vector<float>& got,
                     const std::vector<float>& want) {
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    double magnitude = 0;
    for (std::size_t k = 0; k < w.columns; ++k)
      magnitude += std::abs(double(x[i / w.rows * w.columns + k]) * weight_element(w, i % w.rows, k));
    const double error = std::abs(double(got[i]) - want[i]);
    if (error != 0) worst = std::max(worst, std::isnan(error) ? 1e9 : error / magnitude);
  }
  return worst;
}

TEST_CASE("linear: products equal MLX's quantized_matmul for every mode, on every instruction set") {
  for (const char* file : {"gauss_bf16", "special_f32"}) {
    QuantFixture fixture(file);
    const std::vector<float> x = fixture.floats("x");
    for (const QuantMode& mode : test::all_modes()) {
      const WeightView w = fixture.view(mode.prefix, mode.format, mode.bits, mode.group);
      for (const std::size_t rows : {1, 5, 33}) {
        const io::TensorEntry* want = fixture.find(mode.prefix + ".qmm_m" + std::to_string(rows));
        if (want == nullptr) continue;
        for (const Isa isa : supported_isas()) {
          CAPTURE(file);
          CAPTURE(mode.prefix);
          CAPTURE(rows);
          CAPTURE(name(isa));
          CHECK(product_error(w, x, product(w, isa, x, rows), test::floats_of(*want)) <= 2e-6);
        }
      }
    }
  }
}

TEST_CASE("dequantize_row: float32 results of the reference equal MLX's bit for bit") {
  QuantFixture fixture("special_f32");
  for (const QuantMode& mode : test::all_modes()) {
    const io::TensorEntry* want = fixture.find(mode.prefix + ".dequant");
    if (want == nullptr) continue;
    CAPTURE(mode.prefix);
    const WeightView w = fixture.view(mode.prefix, mode.format, mode.bits, mode.group);
    std::vector<float> got(w.rows * w.columns);
    for (std::size_t n = 0; n < w.rows; ++n)
      find_linear_kernels(w.spec, Isa::kReference)->dequantize_row(&got[n * w.columns], w, n);
    // MLX's encoder writes no -0 code, but 0 times a negative scale is -0 on both sides: compare values.
    CHECK(got == test::floats_of(*want));
  }
}

TEST_CASE("dequantize_row: bfloat16 results equal MLX's when product and sum are each rounded") {
  QuantFixture fixture("gauss_bf16");
  for (const QuantMode& mode : test::all_modes()) {
    CAPTURE(mode.prefix);
    const WeightView w = fixture.view(mode.prefix, mode.format, mode.bits, mode.group);
    const std::vector<float> want = fixture.floats(mode.prefix + ".dequant");
    const bool affine = mode.format == WeightFormat::kAffine;
    const std::vector<float> scales = affine ? fixture.floats(mode.prefix + ".scales") : std::vector<float>();
    const std::vector<float> biases = affine ? fixture.floats(mode.prefix + ".biases") : std::vector<float>();
    std::vector<float> got(want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!affine) {
        got[i] = weight_element(w, i / w.columns, i % w.columns);
        continue;
      }
      const auto* codes = static_cast<const std::uint8_t*>(w.data);
      const auto code = static_cast<float>(unpack_code(codes, i, mode.bits));
      const std::size_t group = i / static_cast<std::size_t>(mode.group);
      got[i] = round_to_bf16(round_to_bf16(code * scales[group]) + biases[group]);
    }
    CHECK(got == want);
  }
}

TEST_CASE("dequantize_row: every version decodes the packing fixtures to the source matrix") {
  QuantFixture fixture("packing");
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    const std::string prefix = "pack_b" + std::to_string(bits);
    const WeightView w = fixture.view(prefix, WeightFormat::kAffine, bits, 128);
    const std::vector<float> want = fixture.floats(prefix + ".w");
    for (const Isa isa : supported_isas()) {
      CAPTURE(bits);
      CAPTURE(name(isa));
      std::vector<float> got(want.size());
      for (std::size_t n = 0; n < w.rows; ++n)
        find_linear_kernels(w.spec, isa)->dequantize_row(&got[n * w.columns], w, n);
      double worst = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        worst = std::max(worst, std::abs(double(got[i]) - want[i]));
      // Row 1 of the 8-bit case has a scale of 0.992: half a step off at most.
      CHECK(worst <= (bits == 8 ? 0.5 : 0.0));
    }
  }
}

TEST_CASE("linear: routed expert products equal MLX's gather_qmm") {
  QuantFixture fixture("misc");
  const WeightView stack = fixture.view("moe", WeightFormat::kAffine, 4, 64);
  const std::vector<float> x = fixture.floats("moe.x");
  const std::vector<float> want = fixture.floats("moe.y");
  const auto* indices = static_cast<const std::uint32_t*>(fixture.memory("moe.indices"));
  constexpr std::size_t kOutputs = 32;
  for (const Isa isa : supported_isas())
    for (std::size_t i = 0; i < 10; ++i) {
      CAPTURE(name(isa));
      CAPTURE(i);
      WeightView expert = stack;
      expert.rows = kOutputs;
      const std::size_t first = indices[i] * kOutputs * stack.columns;
      expert.data = static_cast<const std::byte*>(stack.data) + first / 2;
      expert.scales = static_cast<const std::byte*>(stack.scales) + first / 64 * 2;
      expert.biases = static_cast<const std::byte*>(stack.biases) + first / 64 * 2;
      const std::vector<float> token(x.begin() + static_cast<std::ptrdiff_t>(i / 2 * 128),
                                     x.begin() + static_cast<std::ptrdiff_t>(i / 2 * 128 + 128));
      const std::vector<float> expected(want.begin() + static_cast<std::ptrdiff_t>(i * kOutputs),
                                        want.begin() + static_cast<std::ptrdiff_t>((i + 1) * kOutputs));
      CHECK(product_error(expert, token, product(expert, isa, token, 1), expected) <= 2e-6);
    }
}

TEST_CASE("linear: an embedding table serves as look-up and as head") {
  QuantFixture fixture("misc");
  const WeightView table = fixture.view("embed", WeightFormat::kAffine, 6, 64);
  const std::vector<float> rows = fixture.floats("embed.rows");
  const auto* ids = static_cast<const std::int32_t*>(fixture.memory("embed.ids"));
  const std::vector<float> h = fixture.floats("embed.h");
  for (const Isa isa : supported_isas()) {
    CAPTURE(name(isa));
    std::vector<float> row(table.columns);
    double worst = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      const auto id = static_cast<std::size_t>(ids[i]);
      find_linear_kernels(table.spec, isa)->dequantize_row(row.data(), table, id);
      for (std::size_t k = 0; k < table.columns; ++k) {
        const float want = rows[i * table.columns + k];
        float bias = 0;
        const std::size_t group = (id * table.columns + k) / 64;
        bias = bf16_to_float(static_cast<const std::uint16_t*>(table.biases)[group]);
        const double magnitude = std::abs(double(row[k]) - bias) + std::abs(double(bias));
        worst = std::max(worst, std::abs(double(row[k]) - want) / magnitude);
      }
    }
    CHECK(worst <= 0x1p-8);  // MLX rounds product and sum to bfloat16, we round neither
    CHECK(product_error(table, h, product(table, isa, h, 3), fixture.floats("embed.as_linear")) <= 2e-6);
  }
}

TEST_CASE("FP8 E4M3 decodes to MLX's table") {
  QuantFixture fixture("misc");
  const std::vector<float> want = fixture.floats("fp8.decoded_f32");
  const auto* codes = static_cast<const std::uint8_t*>(fixture.memory("fp8.codes"));
  for (std::size_t i = 0; i < 256; ++i) CHECK(f8_e4m3_to_float(codes[i]) == want[i]);
}

TEST_CASE("fp kernels decode every element and scale code like the reference") {
  for (const QuantMode& mode : test::fp_modes()) {
    const auto group = static_cast<std::size_t>(mode.group);
    const std::size_t codes = mode.bits == 8 ? 256 : 16;
    const std::size_t columns = codes * 2;  // a multiple of every group, each code in turn
    std::vector<std::uint8_t> data(columns * static_cast<std::size_t>(mode.bits) / 8);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<std::uint8_t>(mode.bits == 8 ? i : (2 * i % 16) | ((2 * i + 1) % 16) << 4);
    for (int scale = 0; scale < 255; ++scale) {
      const std::vector<std::uint8_t> scales(columns / group, static_cast<std::uint8_t>(scale));
      const WeightView w{.spec = {mode.format, DType::kU8, mode.bits, mode.group},
                         .rows = 1,
                         .columns = columns,
                         .data = data.data(),
                         .scales = scales.data()};
      for (const Isa isa : supported_isas()) {
        CAPTURE(mode.prefix);
        CAPTURE(scale);
        CAPTURE(name(isa));
        std::vector<float> got(columns);
        std::vector<float> want(columns);
        find_linear_kernels(w.spec, isa)->dequantize_row(got.data(), w, 0);
        find_linear_kernels(w.spec, Isa::kReference)->dequantize_row(want.data(), w, 0);
        CHECK(test::same_bits(got, want));
      }
    }
  }
}

}  // namespace
}  // namespace lanner::kernels
