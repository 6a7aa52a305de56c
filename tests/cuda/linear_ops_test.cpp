// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/float_convert.h"
#include "cuda/device_pair.h"
#include "device/ops.h"

namespace lanner::test {
namespace {

using device::GatedActivation;
using device::LinearCall;
using device::Matrix;
using kernels::WeightFormat;
using kernels::WeightSpec;

/// One random weight in both memories, on the GPU in the form its products take.
class WeightTwin {
 public:
  WeightTwin(DevicePair& pair, const WeightSpec& spec, std::size_t rows, std::size_t columns,
             std::uint64_t seed, device::Compute compute = device::Compute::kExact) {
    kernels::WeightView host{.spec = spec, .rows = rows, .columns = columns};
    kernels::WeightView cuda = host;
    if (spec.format == WeightFormat::kDense) {
      place(pair, floats_as(spec.dtype, random_normal(rows * columns, seed)), host.data, cuda.data);
    } else {
      const std::size_t groups = columns / static_cast<std::size_t>(spec.group);
      place(pair, random_codes(rows * columns * static_cast<std::size_t>(spec.bits) / 8, seed), host.data,
            cuda.data);
      auto scales = random_uniform(rows * groups, seed + 1, 0.01F, 0.03F);
      place(pair, floats_as(spec.dtype, scales), host.scales, cuda.scales);
      for (float& s : scales) s *= -0.5F * float((1 << spec.bits) - 1);
      place(pair, floats_as(spec.dtype, scales), host.biases, cuda.biases);
    }
    host_ = Matrix(host, nullptr, Isa::kReference);
    cuda_ = Matrix(cuda, nullptr, Isa::kReference);
    if (auto tiled = pair.cuda().tile(pair.cuda(), cuda, compute)) cuda_.set_tiled(std::move(tiled));
  }

  const Matrix& host() const { return host_; }
  const Matrix& cuda() const { return cuda_; }

 private:
  static std::vector<std::byte> floats_as(DType dtype, std::span<const float> values) {
    std::vector<std::byte> bytes(values.size() * size_bytes(dtype));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (dtype == DType::kF32) {
        std::memcpy(bytes.data() + 4 * i, &values[i], 4);
      } else {
        const std::uint16_t bits = dtype == DType::kBF16 ? float_to_bf16(values[i]) : float_to_f16(values[i]);
        std::memcpy(bytes.data() + 2 * i, &bits, 2);
      }
    }
    return bytes;
  }
  static std::vector<std::byte> random_codes(std::size_t count, std::uint64_t seed) {
    std::vector<std::byte> bytes(count);
    const auto values = random_uniform(count, seed, 0, 255.99F);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(values[i]);
    return bytes;
  }
  void place(DevicePair& pair, std::vector<std::byte> bytes, const void*& host, const void*& cuda) {
    host_bytes_.push_back(std::move(bytes));
    const auto& kept = host_bytes_.back();
    cuda_bytes_.emplace_back(kept.size() + 256, *pair.cuda().memory);
    pair.cuda().memory->upload(cuda_bytes_.back().data(), kept.data(), kept.size());
    host = kept.data();
    cuda = cuda_bytes_.back().data();
  }

  std::vector<std::vector<std::byte>> host_bytes_;
  std::vector<Buffer> cuda_bytes_;
  Matrix host_;
  Matrix cuda_;
};

std::vector<WeightSpec> specs() {
  std::vector<WeightSpec> all = {{WeightFormat::kDense, DType::kF32, 32, 0},
                                 {WeightFormat::kDense, DType::kBF16, 16, 0},
                                 {WeightFormat::kDense, DType::kF16, 16, 0}};
  for (int bits : sizes({2, 3, 4, 5, 6, 8}, {4, 8}))
    for (int group : {32, 64, 128})
      for (DType dtype : sizes({DType::kBF16, DType::kF16}, {DType::kBF16}))
        all.push_back({WeightFormat::kAffine, dtype, bits, group});
  return all;
}

// 22 bits of the input, float sums over K products of random sign.
double tolerance(std::size_t columns) { return 8 * 0x1p-22 * std::sqrt(double(columns)); }

// Elements and inputs of 11 bits each: errors of random sign, over the root mean square of the sum.
constexpr double kHalfTolerance = 8 * 0x1p-11;

}  // namespace

TEST_CASE("cuda: products of every format agree with the reference at any number of rows") {
  DevicePair pair;
  for (const WeightSpec& spec : specs())
    for (std::int64_t rows : {1, 3, 9, 70}) {
      CAPTURE(int(spec.format));
      CAPTURE(spec.bits);
      CAPTURE(spec.group);
      CAPTURE(rows);
      const ArenaScope host_scope(pair.host_arena());
      const ArenaScope scope(pair.arena());
      const std::size_t columns = 384;
      const WeightTwin w(pair, spec, 72, columns, 1);
      const auto x = pair.twin({rows, 384}, 5);
      const auto out = pair.empty({rows, 72});
      const LinearCall host{out.host, &w.host()};
      const LinearCall cuda{out.cuda, &w.cuda()};
      pair.reference().linear(pair.reference_stream(), {&host, 1}, {.x = x.host});
      pair.cuda().linear(pair.stream(), {&cuda, 1}, {.x = x.cuda});
      CHECK(pair.error(out) <= tolerance(columns));
    }
}

TEST_CASE("cuda: products in half precision agree with the reference to what 11 bits give") {
  DevicePair pair;
  for (const WeightSpec& spec : specs())
    for (std::int64_t rows : {1, 9, 70}) {
      CAPTURE(int(spec.format));
      CAPTURE(spec.bits);
      CAPTURE(spec.group);
      CAPTURE(rows);
      const ArenaScope host_scope(pair.host_arena());
      const ArenaScope scope(pair.arena());
      const WeightTwin w(pair, spec, 72, 384, 1, device::Compute::kHalf);
      const auto x = pair.twin({rows, 384}, 5);
      const auto out = pair.empty({rows, 72});
      const LinearCall host{out.host, &w.host()};
      const LinearCall cuda{out.cuda, &w.cuda()};
      pair.reference().linear(pair.reference_stream(), {&host, 1}, {.x = x.host});
      pair.cuda().linear(pair.stream(), {&cuda, 1}, {.x = x.cuda});
      CHECK(pair.error(out) <= kHalfTolerance);
    }
}

TEST_CASE("cuda: a norm before a product and a sum behind it come out the same in one go") {
  DevicePair pair;
  for (device::Compute compute : {device::Compute::kExact, device::Compute::kHalf})
    for (const WeightSpec& spec : {WeightSpec{WeightFormat::kAffine, DType::kBF16, 4, 64},
                                   WeightSpec{WeightFormat::kDense, DType::kF32, 32, 0}})
      for (std::int64_t rows : {1, 2, 5, 70}) {
        CAPTURE(name(compute));
        CAPTURE(spec.bits);
        CAPTURE(rows);
        const ArenaScope host_scope(pair.host_arena());
        const ArenaScope scope(pair.arena());
        const WeightTwin w(pair, spec, 80, 640, 1, compute);
        const WeightTwin up(pair, spec, 80, 640, 21, compute);
        const auto x = pair.twin({rows, 640}, 5);
        const auto gain = pair.twin({640}, 6);
        const auto residual = pair.twin({rows, 80}, 7);
        const auto normed = pair.empty({rows, 640});
        const auto out = pair.empty({rows, 80});
        pair.reference().rms_norm(pair.reference_stream(), normed.host, x.host, gain.host, 1e-6F);
        const LinearCall host{out.host, &w.host()};
        pair.reference().linear(pair.reference_stream(), {&host, 1}, {.x = normed.host});
        pair.reference().add(pair.reference_stream(), out.host, out.host, residual.host);
        const device::ProductInput in{.x = x.cuda, .norm = true, .gain = gain.cuda, .eps = 1e-6F};
        const LinearCall product{.out = out.cuda, .w = &w.cuda(), .residual = residual.cuda};
        pair.cuda().linear(pair.stream(), {&product, 1}, in);
        const double allowed = compute == device::Compute::kHalf && w.cuda().tiled() != nullptr
                                   ? kHalfTolerance
                                   : 2 * tolerance(640);
        CHECK(pair.error(out) <= allowed);
        pair.reference().gated_linear(pair.reference_stream(), out.host, w.host(), up.host(),
                                      {.x = normed.host}, GatedActivation::kSilu);
        pair.cuda().gated_linear(pair.stream(), out.cuda, w.cuda(), up.cuda(), in, GatedActivation::kSilu);
        CHECK(pair.error(out) <= 16 * allowed);
      }
}

TEST_CASE("cuda: a row's product has the same bits alone and among any number of rows") {
  DevicePair pair;
  for (device::Compute compute : {device::Compute::kExact, device::Compute::kHalf})
    for (const WeightSpec& spec : specs())
      for (std::int64_t columns : sizes<std::int64_t>({128, 1152, 2560}, {1152})) {
        CAPTURE(name(compute));
        CAPTURE(spec.bits);
        CAPTURE(spec.group);
        CAPTURE(columns);
        const ArenaScope host_scope(pair.host_arena());
        const ArenaScope scope(pair.arena());
        const WeightTwin w(pair, spec, 200, static_cast<std::size_t>(columns), 1, compute);
        const std::int64_t count = sizes({300}, {130}).front();
        const std::int64_t begin = sizes({100}, {60}).front();
        const auto x = pair.twin({count, columns}, 5);
        const auto whole = pair.empty({count, 200});
        const LinearCall all{whole.cuda, &w.cuda()};
        pair.cuda().linear(pair.stream(), {&all, 1}, {.x = x.cuda});
        const auto want = pair.result(whole.cuda);
        for (std::int64_t rows : sizes<std::int64_t>({1, 2, 8, 13, 31, 64, 65, 129}, {8, 31, 64})) {
          CAPTURE(rows);
          const auto part = pair.empty({rows, 200});
          const LinearCall call{part.cuda, &w.cuda()};
          pair.cuda().linear(pair.stream(), {&call, 1}, {.x = x.cuda.slice(begin, begin + rows)});
          const auto got = pair.result(part.cuda);
          CHECK(std::equal(got.begin(), got.end(), want.begin() + begin * 200));
        }
      }
}

TEST_CASE("cuda: a sum before products has the bits of operations of their own, whichever product forms it") {
  DevicePair pair;
  const WeightSpec four = {WeightFormat::kAffine, DType::kBF16, 4, 64};
  const WeightSpec eight = {WeightFormat::kAffine, DType::kBF16, 8, 32};
  const WeightSpec plain = {WeightFormat::kDense, DType::kF32, 32, 0};
  for (device::Compute compute : {device::Compute::kExact, device::Compute::kHalf})
    // One octet a thread, two, and more than products form.
    for (std::int64_t columns : sizes<std::int64_t>({640, 5376, 8448}, {640}))
      for (const auto& [first, second] :
           {std::pair{four, four}, std::pair{four, eight}, std::pair{four, plain}})
        for (std::int64_t rows : sizes<std::int64_t>({1, 2, 3, 8, 9, 64, 65}, {2, 9})) {
          CAPTURE(name(compute));
          CAPTURE(columns);
          CAPTURE(second.bits);
          CAPTURE(rows);
          const ArenaScope host_scope(pair.host_arena());
          const ArenaScope scope(pair.arena());
          const WeightTwin a(pair, first, 80, static_cast<std::size_t>(columns), 1, compute);
          const WeightTwin b(pair, second, 48, static_cast<std::size_t>(columns), 11, compute);
          const WeightTwin up(pair, first, 80, static_cast<std::size_t>(columns), 21, compute);
          const auto x = pair.twin({rows, columns}, 5);
          const auto y = pair.twin({rows, columns}, 6);
          const auto gain = pair.twin({columns}, 7);
          const auto want_sum = pair.empty({rows, columns});
          const device::NormedSum parts{x.cuda, y.cuda, gain.cuda, 1e-6F, 0.3F};
          pair.cuda().add_norm(pair.stream(), want_sum.cuda, x.cuda, y.cuda, gain.cuda, 1e-6F, 0.3F);
          for (bool norm : {false, true}) {
            CAPTURE(norm);
            const auto run = [&](const Tensor& sum, const std::optional<device::NormedSum>& of) {
              const auto one = pair.empty({rows, 80});
              const auto other = pair.empty({rows, 48});
              const LinearCall calls[] = {{one.cuda, &a.cuda()}, {other.cuda, &b.cuda()}};
              pair.cuda().linear(pair.stream(), std::span<const LinearCall>(calls),
                                 {.x = sum, .norm = norm, .gain = gain.cuda, .eps = 1e-6F, .sum = of});
              auto values = pair.result(one.cuda);
              const auto more = pair.result(other.cuda);
              values.insert(values.end(), more.begin(), more.end());
              return values;
            };
            const auto sum = pair.empty({rows, columns});
            CHECK(run(sum.cuda, parts) == run(want_sum.cuda, {}));
            CHECK(pair.result(sum.cuda) == pair.result(want_sum.cuda));
            const auto gated = [&](const Tensor& of_sum, const std::optional<device::NormedSum>& of) {
              const auto out = pair.empty({rows, 80});
              pair.cuda().gated_linear(
                  pair.stream(), out.cuda, a.cuda(), up.cuda(),
                  {.x = of_sum, .norm = norm, .gain = gain.cuda, .eps = 1e-6F, .sum = of},
                  GatedActivation::kGeluTanh);
              return pair.result(out.cuda);
            };
            const auto again = pair.empty({rows, columns});
            CHECK(gated(again.cuda, parts) == gated(want_sum.cuda, {}));
            CHECK(pair.result(again.cuda) == pair.result(want_sum.cuda));
          }
        }
}

TEST_CASE("cuda: a gate whose other factor is there has the bits of a product and an activation") {
  DevicePair pair;
  for (device::Compute compute : {device::Compute::kExact, device::Compute::kHalf})
    for (const WeightSpec& spec : specs())
      for (std::int64_t rows : sizes<std::int64_t>({1, 3, 8, 9, 70}, {1, 9})) {
        CAPTURE(name(compute));
        CAPTURE(spec.bits);
        CAPTURE(spec.group);
        CAPTURE(rows);
        const ArenaScope host_scope(pair.host_arena());
        const ArenaScope scope(pair.arena());
        const WeightTwin w(pair, spec, 200, 640, 1, compute);
        const auto x = pair.twin({rows, 640}, 5);
        const auto up = pair.twin({rows, 200}, 6);
        const auto want = pair.empty({rows, 200});
        const auto got = pair.empty({rows, 200});
        for (GatedActivation kind : {GatedActivation::kGeluTanh, GatedActivation::kSilu}) {
          const LinearCall product{want.cuda, &w.cuda()};
          pair.cuda().linear(pair.stream(), {&product, 1}, {.x = x.cuda});
          pair.cuda().gated_activation(pair.stream(), want.cuda, want.cuda, up.cuda, kind);
          const LinearCall gated{.out = got.cuda, .w = &w.cuda(), .up = up.cuda, .activation = kind};
          pair.cuda().linear(pair.stream(), {&gated, 1}, {.x = x.cuda});
          CHECK(pair.result(got.cuda) == pair.result(want.cuda));
        }
      }
}

TEST_CASE("cuda: few rows of wide products side by side have the bits of each row alone") {
  DevicePair pair;
  constexpr std::int64_t kColumns = 640;
  constexpr std::int64_t kMost = 8;
  const WeightSpec spec = {WeightFormat::kAffine, DType::kBF16, 4, 64};
  for (device::Compute compute : {device::Compute::kExact, device::Compute::kHalf}) {
    CAPTURE(name(compute));
    const ArenaScope host_scope(pair.host_arena());
    const ArenaScope scope(pair.arena());
    const auto x = pair.twin({kMost, kColumns}, 5);
    std::vector<WeightTwin> weights;
    std::vector<DevicePair::Twin> residuals;
    // Many tiles a block, few, and a last one that is not whole.
    for (std::size_t outputs : sizes<std::size_t>({36000, 2200, 4400}, {2200, 4400})) {
      weights.emplace_back(pair, spec, outputs, kColumns, outputs, compute);
      residuals.push_back(pair.twin({kMost, static_cast<std::int64_t>(outputs)}, outputs + 1));
    }
    const auto run = [&](std::int64_t begin, std::int64_t end) {
      std::vector<DevicePair::Twin> outs;
      std::vector<LinearCall> calls;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        outs.push_back(pair.empty({end - begin, static_cast<std::int64_t>(weights[i].cuda().rows())}));
        calls.push_back({outs[i].cuda, &weights[i].cuda()});
        if (i != 1) calls[i].residual = residuals[i].cuda.slice(begin, end);
      }
      pair.cuda().linear(pair.stream(), calls, {.x = x.cuda.slice(begin, end)});
      return outs;
    };
    std::vector<std::vector<float>> want(weights.size());
    for (std::int64_t row = 0; row < kMost; ++row) {
      const auto outs = run(row, row + 1);
      for (std::size_t i = 0; i < outs.size(); ++i) {
        const auto values = pair.result(outs[i].cuda);
        want[i].insert(want[i].end(), values.begin(), values.end());
      }
    }
    for (std::int64_t rows = 2; rows <= kMost; ++rows) {
      CAPTURE(rows);
      const auto outs = run(0, rows);
      for (std::size_t i = 0; i < outs.size(); ++i) {
        CAPTURE(i);
        const auto got = pair.result(outs[i].cuda);
        CHECK(std::equal(got.begin(), got.end(), want[i].begin()));
      }
    }
  }
}

TEST_CASE("cuda: large and tiny inputs keep their precision") {
  DevicePair pair;
  const WeightTwin w(pair, {WeightFormat::kAffine, DType::kBF16, 4, 64}, 64, 256, 1);
  for (float factor : {1e-20F, 1e-6F, 3e5F, 1e20F}) {
    CAPTURE(factor);
    const auto x = pair.twin({2, 256}, 3);
    for (float& v : x.host.floats()) v *= factor;
    pair.upload(x);
    const auto out = pair.empty({2, 64});
    const LinearCall host{out.host, &w.host()};
    const LinearCall cuda{out.cuda, &w.cuda()};
    pair.reference().linear(pair.reference_stream(), {&host, 1}, {.x = x.host});
    pair.cuda().linear(pair.stream(), {&cuda, 1}, {.x = x.cuda});
    CHECK(pair.error(out) <= tolerance(256) * (factor < 1e-10F ? 1e30 : 1));
    if (factor < 1e-10F) {
      const auto got = pair.result(out.cuda);
      for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(got[i] == doctest::Approx(out.host.floats()[i]).epsilon(1e-3).scale(double(factor)));
    }
  }
}

TEST_CASE("cuda: gated products, several products at once and look-ups agree with the reference") {
  DevicePair pair;
  for (const WeightSpec& spec : specs())
    for (std::int64_t rows : {1, 20, 100}) {
      CAPTURE(spec.bits);
      CAPTURE(spec.group);
      CAPTURE(rows);
      const ArenaScope host_scope(pair.host_arena());
      const ArenaScope scope(pair.arena());
      const WeightTwin gate(pair, spec, 80, 256, 1);
      const WeightTwin up(pair, spec, 80, 256, 11);
      const auto x = pair.twin({rows, 256}, 5);
      for (float& v : x.host.floats()) v *= 0.1F;
      pair.upload(x);
      const auto out = pair.empty({rows, 80});
      for (GatedActivation kind : {GatedActivation::kGeluTanh, GatedActivation::kSilu}) {
        pair.reference().gated_linear(pair.reference_stream(), out.host, gate.host(), up.host(),
                                      {.x = x.host}, kind);
        pair.cuda().gated_linear(pair.stream(), out.cuda, gate.cuda(), up.cuda(), {.x = x.cuda}, kind);
        CHECK(pair.error(out) <= 16 * tolerance(256));
      }
      const auto first = pair.empty({rows, 80});
      const auto second = pair.empty({rows, 80});
      const LinearCall host[] = {{first.host, &gate.host()}, {second.host, &up.host()}};
      const LinearCall cuda[] = {{first.cuda, &gate.cuda()}, {second.cuda, &up.cuda()}};
      pair.reference().linear(pair.reference_stream(), std::span<const LinearCall>(host), {.x = x.host});
      pair.cuda().linear(pair.stream(), std::span<const LinearCall>(cuda), {.x = x.cuda});
      CHECK(pair.error(first) <= tolerance(256));
      CHECK(pair.error(second) <= tolerance(256));
      const std::vector<TokenId> ids = {0, 79, 17, 8, 7};
      const auto looked_up = pair.empty({5, 256});
      pair.reference().embed(pair.reference_stream(), looked_up.host, gate.host(), ids, 1.5F);
      pair.cuda().embed(pair.stream(), looked_up.cuda, gate.cuda(), ids, 1.5F);
      CHECK(pair.error(looked_up) <= 0x1p-22);
    }
}

TEST_CASE("cuda: a feed-forward in one go has the bits of its parts") {
  DevicePair pair;
  constexpr std::int64_t kWidth = 256;
  const WeightSpec spec = {WeightFormat::kAffine, DType::kBF16, 4, 64};
  for (device::Compute compute : {device::Compute::kExact, device::Compute::kHalf})
    for (std::int64_t inner : sizes<std::int64_t>({256, 4096, 9216, 17408}, {256}))
      for (std::int64_t rows : sizes<std::int64_t>({200, 300}, {200})) {
        const GatedActivation kind = rows == 200 ? GatedActivation::kGeluTanh : GatedActivation::kSilu;
        CAPTURE(name(compute));
        CAPTURE(inner);
        CAPTURE(rows);
        const WeightTwin gate(pair, spec, static_cast<std::size_t>(inner), kWidth, 1, compute);
        const WeightTwin up(pair, spec, static_cast<std::size_t>(inner), kWidth, 11, compute);
        const WeightTwin down(pair, spec, kWidth, static_cast<std::size_t>(inner), 21, compute);
        const ArenaScope host_scope(pair.host_arena());
        const ArenaScope scope(pair.arena());
        const auto x = pair.twin({rows, kWidth}, 5);
        const auto gain = pair.twin({kWidth}, 6);
        const auto want = pair.empty({rows, kWidth});
        const auto got = pair.empty({rows, kWidth});
        const auto gated = pair.empty({rows, inner});
        const device::ProductInput in = {.x = x.cuda, .norm = true, .gain = gain.cuda, .eps = 1e-6F};
        pair.cuda().gated_linear(pair.stream(), gated.cuda, gate.cuda(), up.cuda(), in, kind);
        const LinearCall last{want.cuda, &down.cuda(), x.cuda};
        pair.cuda().linear(pair.stream(), {&last, 1}, {.x = gated.cuda});
        REQUIRE(pair.cuda().can_feed_forward(4096, gate.cuda(), up.cuda(), down.cuda()));
        pair.cuda().feed_forward(pair.stream(), {.out = got.cuda,
                                                 .residual = x.cuda,
                                                 .in = in,
                                                 .gated = pair.empty({rows, inner}).cuda,
                                                 .gate = &gate.cuda(),
                                                 .up = &up.cuda(),
                                                 .down = &down.cuda(),
                                                 .activation = kind});
        CHECK(pair.result(got.cuda) == pair.result(want.cuda));
      }
}

TEST_CASE("cuda: routed experts agree with the reference") {
  DevicePair pair;
  constexpr std::size_t kExperts = 12;
  constexpr std::size_t kChosen = 3;
  for (const WeightSpec& spec : {WeightSpec{WeightFormat::kAffine, DType::kBF16, 4, 64},
                                 WeightSpec{WeightFormat::kDense, DType::kF32, 32, 0},
                                 WeightSpec{WeightFormat::kDense, DType::kBF16, 16, 0}})
    for (std::int64_t rows : sizes<std::int64_t>({1, 5, 40, 400}, {5, 150})) {
      CAPTURE(spec.bits);
      CAPTURE(rows);
      const ArenaScope host_scope(pair.host_arena());
      const ArenaScope scope(pair.arena());
      std::vector<WeightTwin> twins;
      for (std::size_t e = 0; e < kExperts; ++e) {
        twins.emplace_back(pair, spec, 64, 128, 10 * e + 1);
        twins.emplace_back(pair, spec, 64, 128, 10 * e + 2);
        twins.emplace_back(pair, spec, 128, 64, 10 * e + 3);
      }
      std::vector<Matrix> host[3];
      std::vector<Matrix> cuda[3];
      for (std::size_t i = 0; i < twins.size(); ++i) {
        host[i % 3].push_back(twins[i].host());
        cuda[i % 3].push_back(twins[i].cuda());
      }
      const auto logits = pair.twin({rows, kExperts}, 77);
      const auto scale = pair.twin({kExperts}, 78);
      const auto x = pair.twin({rows, 128}, 79);
      for (float& v : x.host.floats()) v *= 0.1F;
      pair.upload(x);
      const auto out = pair.empty({rows, 128});
      const std::size_t pairs = static_cast<std::size_t>(rows) * kChosen;
      const auto run = [&](const device::Ops& ops, device::Stream& stream, Arena& arena, const Tensor& l,
                           const Tensor& s, const Tensor& in, const Tensor& to, std::vector<Matrix>(&w)[3]) {
        const std::span<std::int32_t> experts(static_cast<std::int32_t*>(arena.allocate(pairs * 4)), pairs);
        const std::span<float> weights(static_cast<float*>(arena.allocate(pairs * 4)), pairs);
        ops.route(stream,
                  {.experts = experts, .weights = weights, .logits = l, .expert_scale = s, .k = kChosen});
        ops.experts(stream, arena,
                    {.out = to,
                     .x = in,
                     .experts = experts,
                     .weights = weights,
                     .gate = w[0],
                     .up = w[1],
                     .down = w[2]});
      };
      run(pair.reference(), pair.reference_stream(), pair.host_arena(), logits.host, scale.host, x.host,
          out.host, host);
      run(pair.cuda(), pair.stream(), pair.arena(), logits.cuda, scale.cuda, x.cuda, out.cuda, cuda);
      CHECK(pair.error(out) <= 64 * tolerance(128));
    }
}

TEST_CASE("cuda: rows of wide matrices have the same bits alone and together, with a gate and without") {
  DevicePair pair;
  struct Case {
    std::int64_t outputs;
    std::int64_t columns;
    device::Compute compute;
  };
  // Enough for blocks with whole sums, then for shared slices with one block on a multiprocessor and with
  // two.
  for (const auto& [outputs, columns, compute] :
       {Case{8704, 640, device::Compute::kExact}, Case{8704, 640, device::Compute::kHalf},
        Case{9216, 1152, device::Compute::kHalf}, Case{17664, 1152, device::Compute::kHalf}}) {
    CAPTURE(name(compute));
    CAPTURE(outputs);
    const WeightSpec spec = {WeightFormat::kAffine, DType::kBF16, 4, 64};
    const WeightTwin gate(pair, spec, static_cast<std::size_t>(outputs), static_cast<std::size_t>(columns), 1,
                          compute);
    const WeightTwin up(pair, spec, static_cast<std::size_t>(outputs), static_cast<std::size_t>(columns), 11,
                        compute);
    const ArenaScope host_scope(pair.host_arena());
    const ArenaScope scope(pair.arena());
    const auto x = pair.twin({150, columns}, 5);
    const auto run = [&](std::int64_t rows) {
      const Tensor in = x.cuda.slice(0, rows);
      const auto plain = pair.empty({rows, outputs});
      const auto gated = pair.empty({rows, outputs});
      const LinearCall call{plain.cuda, &gate.cuda()};
      pair.cuda().linear(pair.stream(), {&call, 1}, {.x = in});
      pair.cuda().gated_linear(pair.stream(), gated.cuda, gate.cuda(), up.cuda(), {.x = in},
                               GatedActivation::kSilu);
      auto values = pair.result(plain.cuda.slice(0, 1));
      const auto more = pair.result(gated.cuda.slice(0, 1));
      values.insert(values.end(), more.begin(), more.end());
      return values;
    };
    const auto want = run(1);
    for (std::int64_t rows : sizes<std::int64_t>({8, 9, 32, 33, 64, 65, 150}, {8, 32, 64})) {
      CAPTURE(rows);
      CHECK(run(rows) == want);
    }
  }
}

namespace {

/// Experts of one shape in both memories, and a call's inputs.
struct ExpertTwins {
  std::vector<WeightTwin> twins;
  std::vector<Matrix> host[3];
  std::vector<Matrix> cuda[3];

  ExpertTwins(DevicePair& pair, const WeightSpec& spec, std::size_t count, std::size_t hidden,
              std::size_t width, device::Compute compute) {
    for (std::size_t e = 0; e < count; ++e) {
      twins.emplace_back(pair, spec, width, hidden, 10 * e + 1, compute);
      twins.emplace_back(pair, spec, width, hidden, 10 * e + 2, compute);
      twins.emplace_back(pair, spec, hidden, width, 10 * e + 3, compute);
    }
    for (std::size_t i = 0; i < twins.size(); ++i) {
      host[i % 3].push_back(twins[i].host());
      cuda[i % 3].push_back(twins[i].cuda());
    }
  }
};

}  // namespace

TEST_CASE("cuda: normed rows through routed experts and a shared one: as the reference, same bits together") {
  DevicePair pair;
  constexpr std::size_t kExperts = 12;
  constexpr std::size_t kChosen = 3;
  constexpr std::int64_t kHidden = 192;
  for (device::Compute compute : {device::Compute::kExact, device::Compute::kHalf})
    for (const WeightSpec& spec : {WeightSpec{WeightFormat::kAffine, DType::kBF16, 4, 64},
                                   WeightSpec{WeightFormat::kAffine, DType::kF16, 8, 32},
                                   WeightSpec{WeightFormat::kDense, DType::kF32, 32, 0}}) {
      CAPTURE(name(compute));
      CAPTURE(spec.bits);
      const ExpertTwins w(pair, spec, kExperts + 1, kHidden, 128, compute);
      const ArenaScope host_scope(pair.host_arena());
      const ArenaScope scope(pair.arena());
      const std::int64_t count = sizes({400}, {150}).front();
      const auto logits = pair.twin({count, kExperts}, 77);
      const auto shared = pair.twin({count, 1}, 76);
      const auto x = pair.twin({count, kHidden}, 79);
      const auto gain = pair.twin({kHidden}, 80);
      for (float& g : gain.host.floats()) g *= 0.1F;
      pair.upload(gain);
      const auto residual = pair.twin({count, kHidden}, 81);
      const auto run = [&](std::int64_t rows) {
        const auto out = pair.empty({rows, kHidden});
        pair.cuda().routed_experts(
            pair.stream(), pair.arena(),
            {.out = out.cuda,
             .residual = residual.cuda.slice(0, rows),
             .in = {.x = x.cuda.slice(0, rows), .norm = true, .gain = gain.cuda, .eps = 1e-6F},
             .logits = logits.cuda.slice(0, rows),
             .shared_gate = shared.cuda.slice(0, rows),
             .k = kChosen,
             .gate = w.cuda[0],
             .up = w.cuda[1],
             .down = w.cuda[2]});
        return out;
      };
      const auto whole = run(count);
      const auto& ops = pair.reference();
      auto& stream = pair.reference_stream();
      auto& arena = pair.host_arena();
      const Tensor normed = arena.floats(x.host.shape);
      ops.rms_norm(stream, normed, x.host, gain.host, 1e-6F);
      const std::size_t pairs = static_cast<std::size_t>(count) * kChosen;
      const std::span<std::int32_t> ids(static_cast<std::int32_t*>(arena.allocate(pairs * 4)), pairs);
      const std::span<float> weights(static_cast<float*>(arena.allocate(pairs * 4)), pairs);
      ops.route(
          stream,
          {.experts = ids, .weights = weights, .logits = logits.host, .expert_scale = {}, .k = kChosen});
      ops.experts(stream, arena,
                  {.out = whole.host,
                   .x = normed,
                   .experts = ids,
                   .weights = weights,
                   .gate = std::span(w.host[0]).first(kExperts),
                   .up = std::span(w.host[1]).first(kExperts),
                   .down = std::span(w.host[2]).first(kExperts)});
      const Tensor inner = arena.floats({count, 128});
      const Tensor own = arena.floats(x.host.shape);
      ops.gated_linear(stream, inner, w.host[0].back(), w.host[1].back(), {.x = normed},
                       GatedActivation::kSilu);
      const LinearCall down{own, &w.host[2].back()};
      ops.linear(stream, {&down, 1}, {.x = inner});
      ops.gate_rows(stream, own, own, shared.host);
      ops.add(stream, whole.host, whole.host, own);
      ops.add(stream, whole.host, whole.host, residual.host);
      const bool half = compute == device::Compute::kHalf && w.cuda[0].front().tiled() != nullptr;
      CHECK(pair.error(whole) <= (half ? 16 * kHalfTolerance : 64 * tolerance(kHidden)));
      const auto want = pair.result(whole.cuda);
      for (std::int64_t rows : sizes<std::int64_t>({1, 2, 8, 9, 20, 64}, {1, 20})) {
        CAPTURE(rows);
        const auto got = pair.result(run(rows).cuda);
        CHECK(std::equal(got.begin(), got.end(), want.begin()));
      }
    }
}

}  // namespace lanner::test
