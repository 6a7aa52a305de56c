// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "device/affine_weight.h"
#include "device/ops.h"
#include "random.h"

// Operations that do in one pass what others do in several: to the same bits.

namespace lanner::device {
namespace {

using test::AffineWeight;
using test::random_normal;
using test::random_uniform;

constexpr std::size_t kColumns = AffineWeight::kColumns;
constexpr float kEps = 1e-6F;
constexpr std::size_t kRowCounts[] = {1, 2, 3, 4, 5, 7, 8, 13, 33, 64};

template <typename... Extents>
Tensor tensor(std::vector<float>& values, Extents... extents) {
  return {values.data(), DType::kF32, {static_cast<std::int64_t>(extents)...}, DeviceKind::kCpu};
}

/// Weights of packed formats and of one that is multiplied in float, whose products share an input.
struct Weights {
  AffineWeight a{130, 4, 64, 1};
  AffineWeight b{45, 5, 32, 2};
  AffineWeight c{130, 8, 128, 3};
  std::vector<float> plain = random_normal(130 * kColumns, 4);

  std::vector<Matrix> matrices(Isa isa, ThreadPool& pool) const {
    const kernels::WeightView dense{.spec = {kernels::WeightFormat::kDense, DType::kF32, 32, 0},
                                    .rows = 130,
                                    .columns = kColumns,
                                    .data = plain.data()};
    return {a.matrix(isa, pool), b.matrix(isa, pool), c.matrix(isa, pool), Matrix(dense, nullptr, isa)};
  }
};

/// Calls body(ops, stream) for every instruction set and some numbers of threads.
template <typename Body>
void for_streams(Body&& body) {
  for (Isa isa : supported_isas())
    for (int threads : {1, 2, 3, 4}) {
      CAPTURE(name(isa));
      CAPTURE(threads);
      Stream stream(cpu_kernels(isa), threads);
      body(cpu_ops(isa), stream);
    }
}

}  // namespace

TEST_CASE("products of normed rows, and sums behind products, equal norm, product and sum bit for bit") {
  const Weights weights;
  for_streams([&](const Ops& ops, Stream& stream) {
    const std::vector<Matrix> all = weights.matrices(ops.isa, stream.pool());
    // Packed alone, in float alone, and both.
    for (const auto& [first, count] : {std::pair{0U, 3U}, std::pair{3U, 1U}, std::pair{0U, 4U}})
      for (const bool with_gain : {true, false})
        for (std::size_t rows : kRowCounts) {
          CAPTURE(first);
          CAPTURE(count);
          CAPTURE(rows);
          auto x = random_normal(rows * kColumns, 5);
          auto gain = random_normal(kColumns, 6);
          std::vector<float> normed(x.size());
          const Tensor in = tensor(x, rows, kColumns);
          const Tensor g = with_gain ? tensor(gain, kColumns) : Tensor{};
          const Tensor norm_of_in = tensor(normed, rows, kColumns);
          ops.rms_norm(stream, norm_of_in, in, g, kEps);
          std::vector<std::vector<float>> outs;
          std::vector<std::vector<float>> wants;
          std::vector<std::vector<float>> residuals;
          std::vector<LinearCall> calls;
          std::vector<LinearCall> parts;
          for (std::size_t i = 0; i < count; ++i) {
            const std::size_t n = all[first + i].rows();
            outs.emplace_back(rows * n);
            wants.emplace_back(rows * n);
            residuals.push_back(random_normal(rows * n, 7 + i));
          }
          for (std::size_t i = 0; i < count; ++i) {
            const Matrix& w = all[first + i];
            calls.push_back({tensor(outs[i], rows, w.rows()), &w});
            if (i % 2 == 0) calls.back().residual = tensor(residuals[i], rows, w.rows());
            parts.push_back({tensor(wants[i], rows, w.rows()), &w});
          }
          ops.linear(stream, parts, {.x = norm_of_in});
          for (std::size_t i = 0; i < count; i += 2)
            ops.add(stream, parts[i].out, calls[i].residual, parts[i].out);
          ops.linear(stream, calls, {.x = in, .norm = true, .gain = g, .eps = kEps});
          CHECK(outs == wants);
        }
  });
}

TEST_CASE("gated products of normed rows equal norm and gated products bit for bit") {
  const Weights weights;
  for_streams([&](const Ops& ops, Stream& stream) {
    const std::vector<Matrix> all = weights.matrices(ops.isa, stream.pool());
    for (const auto& [gate, up] : {std::pair{0U, 2U}, std::pair{3U, 3U}, std::pair{2U, 3U}})
      for (std::size_t rows : kRowCounts) {
        CAPTURE(gate);
        CAPTURE(rows);
        auto x = random_normal(rows * kColumns, 5);
        auto gain = random_normal(kColumns, 6);
        std::vector<float> normed(x.size());
        std::vector<float> want(rows * all[gate].rows());
        std::vector<float> got(want.size());
        const Tensor in = tensor(x, rows, kColumns);
        ops.rms_norm(stream, tensor(normed, rows, kColumns), in, tensor(gain, kColumns), kEps);
        ops.gated_linear(stream, tensor(want, rows, all[gate].rows()), all[gate], all[up],
                         {.x = tensor(normed, rows, kColumns)}, GatedActivation::kGeluTanh);
        ops.gated_linear(stream, tensor(got, rows, all[gate].rows()), all[gate], all[up],
                         {.x = in, .norm = true, .gain = tensor(gain, kColumns), .eps = kEps},
                         GatedActivation::kGeluTanh);
        CHECK(got == want);
      }
  });
}

TEST_CASE("a sum with a norm, scaled, equals its parts bit for bit, in place too") {
  for_streams([&](const Ops& ops, Stream& stream) {
    for (float factor : {1.0F, 0.3F})
      for (std::size_t rows : {1U, 5U, 64U, 400U}) {
        CAPTURE(rows);
        auto x = random_normal(rows * 130, 1);
        auto y = random_normal(rows * 130, 2);
        auto gain = random_normal(130, 3);
        std::vector<float> want(x.size());
        ops.rms_norm(stream, tensor(want, rows, 130), tensor(y, rows, 130), tensor(gain, 130), kEps);
        ops.add(stream, tensor(want, rows, 130), tensor(x, rows, 130), tensor(want, rows, 130));
        if (factor != 1) ops.scale(stream, tensor(want, rows, 130), tensor(want, rows, 130), factor);
        ops.add_norm(stream, tensor(x, rows, 130), tensor(x, rows, 130), tensor(y, rows, 130),
                     tensor(gain, 130), kEps, factor);
        CHECK(x == want);
      }
  });
}

TEST_CASE(
    "a sum before products, and what multiplies behind one, equal operations of their own bit for bit") {
  const Weights weights;
  for_streams([&](const Ops& ops, Stream& stream) {
    const std::vector<Matrix> all = weights.matrices(ops.isa, stream.pool());
    for (std::size_t which : {0U, 3U})
      for (std::size_t rows : kRowCounts) {
        CAPTURE(which);
        CAPTURE(rows);
        const Matrix& w = all[which];
        auto x = random_normal(rows * kColumns, 5);
        auto y = random_normal(rows * kColumns, 6);
        auto gain = random_normal(kColumns, 7);
        auto up = random_normal(rows * w.rows(), 8);
        std::vector<float> want_sum(x.size());
        std::vector<float> sum(x.size());
        std::vector<float> want(up.size());
        std::vector<float> got(up.size());
        const Tensor g = tensor(gain, kColumns);
        const Tensor formed = tensor(want_sum, rows, kColumns);
        const NormedSum parts{tensor(x, rows, kColumns), tensor(y, rows, kColumns), g, kEps, 0.3F};
        ops.add_norm(stream, formed, parts.x, parts.y, g, kEps, parts.factor);
        const LinearCall plain{.out = tensor(want, rows, w.rows()), .w = &w};
        ops.linear(stream, {&plain, 1}, {.x = formed});
        ops.gated_activation(stream, plain.out, plain.out, tensor(up, rows, w.rows()),
                             GatedActivation::kGeluTanh);
        const LinearCall gated{.out = tensor(got, rows, w.rows()), .w = &w, .up = tensor(up, rows, w.rows())};
        ops.linear(stream, {&gated, 1}, {.x = tensor(sum, rows, kColumns), .sum = parts});
        CHECK(sum == want_sum);
        CHECK(got == want);
        std::ranges::fill(sum, 0.0F);
        const ProductInput in{.x = formed, .norm = true, .gain = g, .eps = kEps};
        ops.gated_linear(stream, plain.out, w, all[2], in, GatedActivation::kSilu);
        ops.gated_linear(
            stream, gated.out, w, all[2],
            {.x = tensor(sum, rows, kColumns), .norm = true, .gain = g, .eps = kEps, .sum = parts},
            GatedActivation::kSilu);
        CHECK(sum == want_sum);
        CHECK(got == want);
      }
  });
}

namespace {

/// Blocks of one side of a cache.
struct Side {
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> blocks;

  Side(KvType type, std::size_t heads, std::size_t dim, std::size_t length) {
    for (std::size_t block = 0; block * kKvBlock < length; ++block)
      memory.emplace_back(KvLayout{.type = type, .head_dim = dim}.side_bytes(heads));
    for (auto& block : memory) blocks.push_back(block.data());
  }
};

}  // namespace

TEST_CASE("heads on their way to attention equal norms, rotation and storing bit for bit") {
  constexpr std::size_t kHeads = 6;
  constexpr std::size_t kKvHeads = 2;
  constexpr std::size_t kDim = 40;
  constexpr std::size_t kFrequencies = 10;
  const RopeShape rope{.head_dim = kDim, .frequencies = kFrequencies, .pair_offset = 20};
  for_streams([&](const Ops& ops, Stream& stream) {
    for (KvType type : {KvType::kF32, KvType::kBF16, KvType::kAffine8, KvType::kAffine6, KvType::kAffine4})
      for (const bool norm_values : {true, false})
        for (std::size_t rows : {3U, 64U, 90U}) {
          CAPTURE(static_cast<int>(type));
          CAPTURE(rows);
          auto q = random_normal(rows * kHeads * 2 * kDim, 1);  // each query beside as many others
          auto k = random_normal(rows * kKvHeads * kDim, 2);
          auto v = random_normal(rows * kKvHeads * kDim, 3);
          auto q_gain = random_normal(kDim, 4);
          auto k_gain = random_normal(kDim, 5);
          auto cos = random_normal(rows * kFrequencies, 6);
          auto sin = random_normal(rows * kFrequencies, 7);
          const Tensor keys = tensor(k, rows, kKvHeads, kDim);
          const Tensor values = tensor(v, rows, kKvHeads, kDim);
          const std::vector<std::int64_t> cuts = {0, 1, static_cast<std::int64_t>(rows)};  // two sequences
          const auto writes_to = [&](std::vector<Side>& sides, const Tensor& its_k, const Tensor& its_v) {
            std::vector<KvWrite> writes;
            for (std::size_t s = 0; s < 2; ++s)
              for (const bool is_value : {false, true})
                writes.push_back({(is_value ? its_v : its_k).slice(cuts[s], cuts[s + 1]),
                                  sides[2 * s + std::size_t{is_value}].blocks, 0, type, 60});
            return writes;
          };
          std::vector<Side> want_sides;
          std::vector<Side> got_sides;
          for (auto* sides : {&want_sides, &got_sides})
            for (int i = 0; i < 4; ++i) sides->emplace_back(type, kKvHeads, kDim, 60 + rows);

          std::vector<float> want(rows * kHeads * kDim);
          for (std::size_t head = 0; head < rows * kHeads; ++head)
            std::copy_n(q.begin() + static_cast<std::ptrdiff_t>(head * 2 * kDim), kDim,
                        want.begin() + static_cast<std::ptrdiff_t>(head * kDim));
          const Tensor queries = tensor(want, rows, kHeads, kDim);
          std::vector<float> normed_k(k.size());
          std::vector<float> normed_v(v);
          const Tensor nk = tensor(normed_k, rows, kKvHeads, kDim);
          const Tensor nv = tensor(normed_v, rows, kKvHeads, kDim);
          ops.rms_norm(stream, queries, queries, tensor(q_gain, kDim), kEps);
          ops.rms_norm(stream, nk, keys, tensor(k_gain, kDim), kEps);
          if (norm_values) ops.rms_norm(stream, nv, values, {}, kEps);
          const auto rotate = [&](std::vector<float>& x, std::size_t heads) {
            stream.kernels().rope(x, cos, sin,
                                  {.heads = heads,
                                   .head_dim = kDim,
                                   .frequencies = kFrequencies,
                                   .pair_offset = rope.pair_offset});
          };
          rotate(want, kHeads);
          rotate(normed_k, kKvHeads);
          ops.write_kv(stream, writes_to(want_sides, nk, nv));

          std::vector<float> got(want.size());
          const std::vector<KvWrite> writes = writes_to(got_sides, keys, values);
          ops.attention_heads(stream, {.q_out = tensor(got, rows, kHeads, kDim),
                                       .q = q.data(),
                                       .q_row = kHeads * 2 * kDim,
                                       .q_head = 2 * kDim,
                                       .k = keys,
                                       .v = values,
                                       .q_gain = tensor(q_gain, kDim),
                                       .k_gain = tensor(k_gain, kDim),
                                       .q_eps = kEps,
                                       .k_eps = kEps,
                                       .v_eps = kEps,
                                       .norm_values = norm_values,
                                       .cos = tensor(cos, rows, kFrequencies),
                                       .sin = tensor(sin, rows, kFrequencies),
                                       .rope = rope,
                                       .writes = writes});
          CHECK(got == want);
          for (std::size_t i = 0; i < 4; ++i) CHECK(got_sides[i].memory == want_sides[i].memory);
        }
  });
}

TEST_CASE("gates behind attention are those of a pass of their own, over few keys and over many") {
  constexpr std::size_t kHeads = 4;
  constexpr std::size_t kDim = 32;
  for_streams([&](const Ops& ops, Stream& stream) {
    for (std::size_t rows : {1U, 9U})
      for (std::size_t length : {70U, 1500U}) {
        CAPTURE(rows);
        CAPTURE(length);
        Side keys(KvType::kBF16, 2, kDim, length);
        Side values(KvType::kBF16, 2, kDim, length);
        auto k = random_normal(length * 2 * kDim, 1);
        auto v = random_normal(length * 2 * kDim, 2);
        const std::vector<KvWrite> writes = {
            {tensor(k, length, 2, kDim), keys.blocks, 0, KvType::kBF16, 0},
            {tensor(v, length, 2, kDim), values.blocks, 0, KvType::kBF16, 0}};
        ops.write_kv(stream, writes);
        auto q = random_normal(rows * kHeads * kDim, 3);
        auto gates = random_normal(rows * kHeads * 2 * kDim, 4);
        std::vector<float> want(q.size());
        std::vector<float> got(q.size());
        const std::vector<std::int32_t> begin(rows, 0);
        const std::vector<std::int32_t> end(rows, static_cast<std::int32_t>(length));
        AttentionCall call{.out = tensor(want, rows, kHeads, kDim),
                           .q = tensor(q, rows, kHeads, kDim),
                           .kv_heads = 2,
                           .scale = 0.2F,
                           .kv = {keys.blocks, values.blocks, 0, KvType::kBF16},
                           .key_begin = begin,
                           .key_end = end};
        ops.attention(stream, {&call, 1});
        for (std::size_t head = 0; head < rows * kHeads; ++head) {
          const std::span<float> out(want.data() + head * kDim, kDim);
          stream.kernels().sigmoid_mul(out, out, {gates.data() + head * 2 * kDim, kDim});
        }
        call.out = tensor(got, rows, kHeads, kDim);
        call.gate = gates.data();
        call.gate_head = 2 * kDim;
        ops.attention(stream, {&call, 1});
        CHECK(got == want);
      }
  });
}

namespace {

constexpr std::size_t kKeyHeads = 3;
constexpr std::size_t kValueHeads = 6;
constexpr std::size_t kKeyDim = 24;
constexpr std::size_t kValueDim = 40;
constexpr std::size_t kChannels = 2 * kKeyHeads * kKeyDim + kValueHeads * kValueDim;
constexpr std::size_t kTaps = 4;

/// A delta net's state of one sequence and what its rows are computed from.
struct DeltaSequence {
  std::vector<float> x, z, b, a, history, state, keys, values, decay, qkv, out;

  DeltaSequence(std::size_t rows, std::size_t first)
      : x(random_normal(rows * kChannels, 1)),
        z(random_normal(rows * kValueHeads * kValueDim, 2)),
        b(random_normal(rows * kValueHeads, 3)),
        a(random_normal(rows * kValueHeads, 4)),
        history(random_normal((kTaps - 1) * kChannels, 5)),
        state(random_normal(kValueHeads * kKeyDim * kValueDim, 6)),
        keys(random_normal(kKeyHeads * kMostDeltaChunk * kKeyDim, 7)),
        values(random_normal(kValueHeads * kMostDeltaChunk * kValueDim, 8)),
        decay(random_uniform(kValueHeads * kMostDeltaChunk, 9, -0.3F, 0)),
        qkv(random_uniform(rows * kChannels, 10, -0.3F, 0.3F)),
        out(rows * kValueHeads * kValueDim),
        rows_(rows),
        first_(first) {}

  bool operator==(const DeltaSequence&) const = default;

  Tensor rows_of(std::vector<float>& values_of) const {
    return tensor(values_of, rows_, values_of.size() / rows_);
  }
  DeltaNetCall call() {
    return {.out = rows_of(out),
            .qkv = rows_of(qkv),
            .beta = rows_of(b),
            .log_decay = rows_of(a),
            .first = first_,
            .key_heads = kKeyHeads,
            .value_heads = kValueHeads,
            .key_dim = kKeyDim,
            .value_dim = kValueDim,
            .chunk = kMostDeltaChunk,
            .state = state.data(),
            .entry_keys = keys.data(),
            .entry_values = values.data(),
            .entry_decay = decay.data()};
  }
  HistoryPush push() { return {history.data(), kTaps - 1, rows_of(x)}; }

 private:
  std::size_t rows_;
  std::size_t first_;
};

}  // namespace

TEST_CASE("a delta net's rows in one go equal convolution, norms, gates and delta rule bit for bit") {
  auto conv = random_normal(kTaps * kChannels, 20);
  auto a_log = random_normal(kValueHeads, 21);
  auto dt_bias = random_normal(kValueHeads, 22);
  auto gain = random_normal(kValueDim, 23);
  constexpr float kScale = 0.2F;
  for_streams([&](const Ops& ops, Stream& stream) {
    for (std::size_t rows : kRowCounts) {
      CAPTURE(rows);
      std::vector<DeltaSequence> want;
      for (std::size_t first : {std::size_t{0}, 64 - rows}) want.emplace_back(rows, first);
      std::vector<DeltaSequence> got = want;
      for (DeltaSequence& s : want) {
        const CausalConvCall convolution{s.rows_of(s.qkv), s.rows_of(s.x), s.history.data()};
        const HistoryPush push = s.push();
        const DeltaNetCall call = s.call();
        ops.causal_conv(stream, {&convolution, 1}, tensor(conv, kTaps, kChannels));
        ops.push_history(stream, {&push, 1});
        ops.l2_norm(stream, call.qkv, 0, kKeyHeads * kKeyDim, kKeyDim, kScale);
        ops.l2_norm(stream, call.qkv, kKeyHeads * kKeyDim, kKeyHeads * kKeyDim, kKeyDim, 1.0F);
        ops.delta_net_gates(stream, call.beta, call.log_decay, tensor(a_log, kValueHeads),
                            tensor(dt_bias, kValueHeads));
        ops.delta_net(stream, {&call, 1});
        const Tensor heads = tensor(s.out, rows * kValueHeads, kValueDim);
        ops.gated_rms_norm(stream, heads, heads, s.rows_of(s.z), tensor(gain, kValueDim), kEps);
      }
      std::vector<DeltaMixCall> calls;
      for (DeltaSequence& s : got)
        calls.push_back({.rows = s.call(),
                         .x = s.rows_of(s.x),
                         .history = s.history.data(),
                         .push = s.push(),
                         .z = s.rows_of(s.z)});
      ops.delta_mix(stream, calls,
                    {.conv = tensor(conv, kTaps, kChannels),
                     .a_log = tensor(a_log, kValueHeads),
                     .dt_bias = tensor(dt_bias, kValueHeads),
                     .gain = tensor(gain, kValueDim),
                     .eps = kEps,
                     .query_scale = kScale});
      CHECK((got == want));
    }
  });
}

TEST_CASE("the delta rule through several chunks equals rows and folds one after the other bit for bit") {
  constexpr std::size_t kRows = 150;
  constexpr std::size_t kFirst = 20;
  for_streams([&](const Ops& ops, Stream& stream) {
    DeltaSequence want(kRows, kFirst);
    want.b = random_uniform(want.b.size(), 11, 0, 1);
    want.a = random_uniform(want.a.size(), 12, -0.3F, 0);
    DeltaSequence got = want;
    DeltaNetCall run = got.call();
    run.next_state = got.state.data();
    ops.delta_net(stream, {&run, 1});

    const DeltaNetCall all = want.call();
    std::size_t first = kFirst;
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto begin = static_cast<std::int64_t>(row);
      DeltaNetCall call = all;
      call.out = all.out.slice(begin, begin + 1);
      call.qkv = all.qkv.slice(begin, begin + 1);
      call.beta = all.beta.slice(begin, begin + 1);
      call.log_decay = all.log_decay.slice(begin, begin + 1);
      call.first = first;
      ops.delta_net(stream, {&call, 1});
      if (++first < kMostDeltaChunk) continue;
      const DeltaFoldCall fold{.state = want.state.data(),
                               .next_state = want.state.data(),
                               .entry_keys = want.keys.data(),
                               .entry_values = want.values.data(),
                               .entry_decay = want.decay.data(),
                               .entries = kMostDeltaChunk,
                               .key_heads = kKeyHeads,
                               .value_heads = kValueHeads,
                               .key_dim = kKeyDim,
                               .value_dim = kValueDim,
                               .chunk = kMostDeltaChunk};
      ops.delta_fold(stream, {&fold, 1});
      first = 0;
    }
    CHECK(got.out == want.out);
    CHECK(got.state == want.state);
    CHECK(got.keys == want.keys);
    CHECK(got.values == want.values);
    CHECK(got.decay == want.decay);
  });
}

}  // namespace lanner::device
