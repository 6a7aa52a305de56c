// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cuda/device_pair.h"

namespace lanner::test {
namespace {

using device::GatedActivation;

// A handful of roundings of a float each, on values of order one.
constexpr double kFewRoundings = 64 * 0x1p-24;

}  // namespace

TEST_CASE("cuda: norms of any length agree with the reference") {
  DevicePair pair;
  for (std::int64_t dim : {1, 7, 64, 128, 1000, 1024, 1025, 2560, 5376}) {
    CAPTURE(dim);
    const auto x = pair.twin({5, dim}, 1);
    const auto w = pair.twin({dim}, 2);
    const auto z = pair.twin({5, dim}, 3);
    const auto out = pair.empty({5, dim});
    for (const Tensor* gain : {&w.cuda, static_cast<const Tensor*>(nullptr)}) {
      pair.reference().rms_norm(pair.reference_stream(), out.host, x.host,
                                gain != nullptr ? w.host : Tensor{}, 1e-6F);
      pair.cuda().rms_norm(pair.stream(), out.cuda, x.cuda, gain != nullptr ? *gain : Tensor{}, 1e-6F);
      CHECK(pair.error(out) <= kFewRoundings * 4);
    }
    pair.reference().gated_rms_norm(pair.reference_stream(), out.host, x.host, z.host, w.host, 1e-6F);
    pair.cuda().gated_rms_norm(pair.stream(), out.cuda, x.cuda, z.cuda, w.cuda, 1e-6F);
    CHECK(pair.error(out) <= kFewRoundings * 16);
    pair.reference().add_norm(pair.reference_stream(), out.host, x.host, z.host, w.host, 1e-6F, 0.5F);
    pair.cuda().add_norm(pair.stream(), out.cuda, x.cuda, z.cuda, w.cuda, 1e-6F, 0.5F);
    CHECK(pair.error(out) <= kFewRoundings * 4);
    pair.reference().rms_norm(pair.reference_stream(), out.host, x.host, w.host, 1e-5F);
    pair.reference().add_norm(pair.reference_stream(), out.host, out.host, z.host, w.host, 1e-6F, 1);
    pair.cuda().add_norms(pair.stream(), out.cuda, {.x = x.cuda, .gain = w.cuda, .eps = 1e-5F},
                          {.x = z.cuda, .gain = w.cuda, .eps = 1e-6F});
    CHECK(pair.error(out) <= kFewRoundings * 4);
  }
  const auto rows = pair.twin({3, 2 * 96 + 50}, 4);
  pair.reference().l2_norm(pair.reference_stream(), rows.host, 48, 96, 48, 0.25F);
  pair.cuda().l2_norm(pair.stream(), rows.cuda, 48, 96, 48, 0.25F);
  CHECK(pair.error(rows) <= kFewRoundings);
}

TEST_CASE("cuda: element-wise operations agree with the reference") {
  DevicePair pair;
  const auto a = pair.twin({7, 333}, 1);
  const auto b = pair.twin({7, 333}, 2);
  const auto gate = pair.twin({7, 1}, 3);
  const auto out = pair.empty({7, 333});
  const auto check = [&](auto&& run) {
    run(pair.reference(), pair.reference_stream(), out.host, a.host, b.host, gate.host);
    run(pair.cuda(), pair.stream(), out.cuda, a.cuda, b.cuda, gate.cuda);
    CHECK(pair.error(out) <= kFewRoundings);
  };
  check([](const device::Ops& ops, device::Stream& s, auto& o, auto& x, auto& y, auto&) {
    ops.add(s, o, x, y);
  });
  check([](const device::Ops& ops, device::Stream& s, auto& o, auto& x, auto&, auto&) {
    ops.scale(s, o, x, 0.7F);
  });
  check([](const device::Ops& ops, device::Stream& s, auto& o, auto& x, auto& y, auto&) {
    ops.gated_activation(s, o, x, y, GatedActivation::kGeluTanh);
  });
  check([](const device::Ops& ops, device::Stream& s, auto& o, auto& x, auto& y, auto&) {
    ops.gated_activation(s, o, x, y, GatedActivation::kSilu);
  });
  check([](const device::Ops& ops, device::Stream& s, auto& o, auto& x, auto&, auto& g) {
    ops.gate_rows(s, o, x, g);
  });
  check([](const device::Ops& ops, device::Stream& s, auto& o, auto& x, auto&, auto&) {
    ops.softcap(s, o, x, 3.0F);
  });
  check([](const device::Ops& ops, device::Stream& s, auto& o, auto& x, auto&, auto&) { ops.copy(s, o, x); });
}

TEST_CASE("cuda: rows move as the reference moves them") {
  DevicePair pair;
  const auto x = pair.twin({6, 4, 37}, 1);
  const auto swapped = pair.empty({4, 6, 37});
  pair.reference().swap_axes(pair.reference_stream(), swapped.host, x.host);
  pair.cuda().swap_axes(pair.stream(), swapped.cuda, x.cuda);
  CHECK(pair.error(swapped) == 0);
  const std::vector<std::size_t> rows = {5, 0, 3, 3};
  const auto taken = pair.empty({4, 148});
  pair.reference().take_rows(pair.reference_stream(), taken.host, x.host.reshaped({6, 148}), rows);
  pair.cuda().take_rows(pair.stream(), taken.cuda, x.cuda.reshaped({6, 148}), rows);
  CHECK(pair.error(taken) == 0);
}

TEST_CASE("cuda: the largest of a row is found, and of equal ones the first") {
  DevicePair pair;
  for (std::int64_t columns : {1, 31, 1000, 262144}) {
    CAPTURE(columns);
    const auto x = pair.twin({5, columns}, 1);
    for (std::size_t row = 0; row < 5; ++row) {
      x.host.row(row)[static_cast<std::size_t>(columns) * 9 / 10] = 9;
      x.host.row(row)[static_cast<std::size_t>(columns) / 3] = row % 2 == 0 ? 9.0F : 8.0F;
    }
    pair.upload(x);
    std::vector<TokenId> want(5);
    std::vector<TokenId> got(5);
    pair.reference().argmax(pair.reference_stream(), want, x.host);
    pair.cuda().argmax(pair.stream(), got, x.cuda);
    CHECK(got == want);
  }
}

TEST_CASE("cuda: rotary tables agree with the reference") {
  DevicePair pair;
  std::vector<float> frequencies;
  for (int f = 0; f < 24; ++f) frequencies.push_back(std::pow(10000.0F, -float(f) / 24));
  std::vector<std::uint8_t> axes(24);
  for (std::size_t f = 0; f < 24; ++f) axes[f] = static_cast<std::uint8_t>(f % 3);
  const std::vector<std::array<std::int32_t, 3>> positions = {
      {0, 0, 0}, {5, 2, 3}, {1000, 17, 999}, {40000, 1, 2}};
  const auto cos = pair.empty({4, 24});
  const auto sin = pair.empty({4, 24});
  const device::RopeAngles angles{frequencies, axes, positions, 1.1F};
  pair.reference().rope_tables(pair.reference_stream(), cos.host, sin.host, angles);
  pair.cuda().rope_tables(pair.stream(), cos.cuda, sin.cuda, angles);
  CHECK(pair.error(cos) <= kFewRoundings);
  CHECK(pair.error(sin) <= kFewRoundings);
}

}  // namespace lanner::test
