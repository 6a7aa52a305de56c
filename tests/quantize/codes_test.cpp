// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "kernels/linear/weight_element.h"
#include "kernels/quant_fixture.h"
#include "quantize/affine_group.h"
#include "quantize/float_elements.h"
#include "quantize/fp_codes.h"
#include "quantize/pack_codes.h"
#include "quantize/row_encoder.h"
#include "random.h"

namespace lanner::quantize {
namespace {

using test::QuantFixture;

/// The fixture's matrix encoded by us.
struct Encoded {
  std::vector<std::uint8_t> codes, scales, biases;
};

Encoded encode_matrix(const std::vector<float>& w, std::size_t columns, const QuantFormat& format,
                      DType dtype) {
  const std::size_t rows = w.size() / columns;
  const std::size_t codes = code_bytes(format, columns);
  const std::size_t scales = scale_bytes(format, columns, dtype);
  const std::size_t biases = format.mode == QuantMode::kAffine ? scales : 0;
  Encoded out{std::vector<std::uint8_t>(rows * codes), std::vector<std::uint8_t>(rows * scales),
              std::vector<std::uint8_t>(rows * biases)};
  RowEncoder encoder(format, dtype);
  for (std::size_t row = 0; row < rows; ++row)
    encoder.encode({.codes = std::span(out.codes).subspan(row * codes, codes),
                    .scales = std::span(out.scales).subspan(row * scales, scales),
                    .biases = std::span(out.biases).subspan(row * biases, biases)},
                   std::span(w).subspan(row * columns, columns));
  return out;
}

bool equals(const std::vector<std::uint8_t>& got, const io::TensorEntry& want) {
  return got.size() == want.bytes.size() && std::memcmp(got.data(), want.bytes.data(), got.size()) == 0;
}

TEST_CASE("affine quantizer: codes, scales and biases equal MLX's bit for bit at every width and group") {
  for (const char* file : {"gauss_bf16", "outlier_bf16", "special_f32"}) {
    const QuantFixture fixture(file);
    const std::vector<float> w = fixture.floats("w");
    for (const test::QuantMode& mode : test::affine_modes()) {
      CAPTURE(file);
      CAPTURE(mode.prefix);
      const Encoded got =
          encode_matrix(w, 256, {QuantMode::kAffine, mode.bits, mode.group}, fixture.tensor("w").dtype);
      CHECK(equals(got.codes, fixture.tensor(mode.prefix + ".weight")));
      CHECK(equals(got.scales, fixture.tensor(mode.prefix + ".scales")));
      CHECK(equals(got.biases, fixture.tensor(mode.prefix + ".biases")));
    }
  }
}

TEST_CASE("affine quantizer: expert stacks, embeddings and the packing fixtures") {
  const QuantFixture misc("misc");
  for (const auto& [prefix, bits] : {std::pair<std::string, int>{"moe", 4}, {"embed", 6}}) {
    const Encoded got =
        encode_matrix(misc.floats(prefix + ".w"), 128, {QuantMode::kAffine, bits, 64}, DType::kBF16);
    CHECK(equals(got.codes, misc.tensor(prefix + ".weight")));
    CHECK(equals(got.scales, misc.tensor(prefix + ".scales")));
    CHECK(equals(got.biases, misc.tensor(prefix + ".biases")));
  }
  const QuantFixture packing("packing");
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    CAPTURE(bits);
    const std::string prefix = "pack_b" + std::to_string(bits);
    const Encoded got =
        encode_matrix(packing.floats(prefix + ".w"), 128, {QuantMode::kAffine, bits, 128}, DType::kF32);
    CHECK(equals(got.codes, packing.tensor(prefix + ".weight")));
    CHECK(equals(got.scales, packing.tensor(prefix + ".scales")));
    CHECK(equals(got.biases, packing.tensor(prefix + ".biases")));
  }
}

TEST_CASE("affine quantizer: a constant group decodes exactly and a zero group has the stated codes") {
  std::vector<std::uint8_t> codes(32);
  const AffineGroup zero = quantize_affine_group(codes, std::vector<float>(32, 0.0F), 4);
  CHECK(zero.scale == -1e-7F);
  CHECK(zero.bias == 0);
  CHECK(codes == std::vector<std::uint8_t>(32, 0));
  for (const float constant : {0.25F, -0.375F, 3.0F}) {
    const AffineGroup group = quantize_affine_group(codes, std::vector<float>(32, constant), 4);
    CHECK(group.bias == constant);
    CHECK(codes == std::vector<std::uint8_t>(32, 0));
  }
}

TEST_CASE("affine quantizer: relative squared error on Gaussian data lies where the format allows") {
  struct Case {
    int bits, group;
    double error;
  };
  const std::vector<float> w = test::random_normal(256 * 256, 3);
  for (const Case& known :
       {Case{2, 64, .155}, Case{3, 64, .0363}, Case{4, 32, .0066}, Case{4, 64, .0083}, Case{4, 128, .0100},
        Case{5, 64, .00199}, Case{6, 64, .00051}, Case{8, 64, .00007}}) {
    CAPTURE(known.bits);
    CAPTURE(known.group);
    const Encoded got = encode_matrix(w, 256, {QuantMode::kAffine, known.bits, known.group}, DType::kBF16);
    const kernels::WeightView view{
        .spec = {kernels::WeightFormat::kAffine, DType::kBF16, known.bits, known.group},
        .rows = 256,
        .columns = 256,
        .data = got.codes.data(),
        .scales = got.scales.data(),
        .biases = got.biases.data()};
    double error = 0;
    double power = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double difference = double(kernels::weight_element(view, i / 256, i % 256)) - w[i];
      error += difference * difference;
      power += double(w[i]) * w[i];
    }
    CHECK(error / power == doctest::Approx(known.error).epsilon(0.15));
  }
}

/// Elements of a fixture in an fp mode, ours and MLX's; values that differ must be one code step apart at a
/// tie.
void check_fp_mode(const char* file, const test::QuantMode& mode, double largest_share) {
  QuantFixture fixture(file);
  const std::vector<float> w = fixture.floats("w");
  const QuantFormat format{mode.prefix == "mxfp4"   ? QuantMode::kMxfp4
                           : mode.prefix == "mxfp8" ? QuantMode::kMxfp8
                                                    : QuantMode::kNvfp4,
                           mode.bits, mode.group};
  const Encoded got = encode_matrix(w, 256, format, DType::kBF16);
  const kernels::WeightView want = fixture.view(mode.prefix, mode.format, mode.bits, mode.group);
  kernels::WeightView ours = want;
  ours.data = got.codes.data();
  ours.scales = got.scales.data();
  const auto* want_scales = static_cast<const std::uint8_t*>(want.scales);
  std::size_t different = 0;
  std::size_t not_neighbours = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float a = kernels::weight_element(ours, i / 256, i % 256);
    const float b = kernels::weight_element(want, i / 256, i % 256);
    if (a == b) continue;
    ++different;
    const std::size_t group = i / static_cast<std::size_t>(mode.group);
    if (got.scales[group] == want_scales[group]) {
      // Both are nearest up to the rounding of MLX's bf16 arithmetic.
      const double distance = std::abs(std::abs(double(a) - w[i]) - std::abs(double(b) - w[i]));
      if (distance > 0x1p-7 * std::abs(double(w[i]))) ++not_neighbours;
    } else if (std::abs(int{got.scales[group]} - int{want_scales[group]}) > 1) {
      if (a != 0 || b != 0) ++not_neighbours;  // an all-zero group has code 0 here, 127 there
    }
  }
  CAPTURE(file);
  CAPTURE(mode.prefix);
  CHECK(not_neighbours == 0);
  CHECK(double(different) <= largest_share * double(w.size()));
}

TEST_CASE("fp encoders: values equal MLX's but for rounding ties") {
  for (const test::QuantMode& mode : test::fp_modes()) {
    check_fp_mode("gauss_bf16", mode, 0.03);
    check_fp_mode("outlier_bf16", mode, 0.03);
    check_fp_mode("special_f32", mode, 0.03);
  }
}

TEST_CASE("FP8 E4M3 encodes MLX's samples and every code's own value") {
  QuantFixture fixture("misc");
  const std::vector<float> in = fixture.floats("fp8.enc_in");
  const auto* out = static_cast<const std::uint8_t*>(fixture.memory("fp8.enc_out"));
  for (std::size_t i = 0; i < in.size(); ++i) {
    CAPTURE(in[i]);
    CHECK(int{float_to_e4m3(in[i])} == int{out[i]});
  }
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7f) == 0x7f) continue;
    CHECK(int{float_to_e4m3(f8_e4m3_to_float(static_cast<std::uint8_t>(code)))} == code);
  }
}

TEST_CASE("FP4 E2M1 rounds ties to the even code") {
  const std::pair<float, int> cases[] = {{0.0F, 0},  {0.25F, 0},   {0.26F, 1}, {0.75F, 2}, {1.25F, 2},
                                         {1.75F, 4}, {2.5F, 4},    {3.5F, 6},  {5.0F, 6},  {5.1F, 7},
                                         {99.0F, 7}, {-0.75F, 10}, {-6.0F, 15}};
  for (const auto& [value, code] : cases) {
    CAPTURE(value);
    CHECK(int{float_to_e2m1(value)} == code);
  }
  for (std::uint32_t code = 0; code < 16; ++code) CHECK(float_to_e2m1(kernels::e2m1_to_float(code)) == code);
}

TEST_CASE("pack_codes and unpack_code are inverses at every width") {
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    std::vector<std::uint8_t> codes = test::random_bytes(96, 9);
    for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(code & ((1 << bits) - 1));
    std::vector<std::uint8_t> bytes(96 * static_cast<std::size_t>(bits) / 8);
    pack_codes(bytes, codes, bits);
    for (std::size_t i = 0; i < codes.size(); ++i)
      CHECK(kernels::unpack_code(bytes.data(), i, bits) == codes[i]);
  }
}

}  // namespace
}  // namespace lanner::quantize
