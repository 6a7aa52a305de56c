// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cuda/device_pair.h"

namespace lanner::test {
namespace {

using device::kKvBlock;

struct HeadShape {
  std::size_t q_heads;
  std::size_t kv_heads;
  std::size_t head_dim;
};

/// Keys and values of one sequence in both memories.
class KvTwin {
 public:
  KvTwin(DevicePair& pair, const HeadShape& shape, device::KvType type, std::size_t length)
      : pair_(pair), layout_{.type = type, .head_dim = shape.head_dim} {
    const std::size_t bytes = layout_.side_bytes(shape.kv_heads);
    for (std::size_t block = 0; block * kKvBlock < length; ++block)
      for (auto* side : {&keys_, &values_}) {
        host_.push_back(Buffer::zeroed(bytes));
        cuda_.push_back(Buffer::zeroed(bytes, *pair.cuda().memory));
        side->host.push_back(host_.back().data());
        side->cuda.push_back(cuda_.back().data());
      }
    const Shape rows{static_cast<std::int64_t>(length), static_cast<std::int64_t>(shape.kv_heads),
                     static_cast<std::int64_t>(shape.head_dim)};
    const auto k = pair.twin(rows, 1);
    const auto v = pair.twin(rows, 2);
    const device::KvWrite host[] = {{k.host, keys_.host, 0, type, 0}, {v.host, values_.host, 0, type, 0}};
    const device::KvWrite cuda[] = {{k.cuda, keys_.cuda, 0, type, 0}, {v.cuda, values_.cuda, 0, type, 0}};
    pair.reference().write_kv(pair.reference_stream(), std::span<const device::KvWrite>(host));
    pair.cuda().write_kv(pair.stream(), std::span<const device::KvWrite>(cuda));
  }

  /// The bytes of every block, of the reference and of the GPU.
  bool same_bytes() {
    for (std::size_t i = 0; i < host_.size(); ++i) {
      std::vector<std::byte> got(host_[i].size_bytes());
      pair_.cuda().memory->download(got.data(), cuda_[i].data(), got.size());
      if (!std::equal(got.begin(), got.end(), host_[i].data())) return false;
    }
    return true;
  }
  /// Largest difference between what both hold at the first `length` positions, over the largest value.
  double error(std::size_t kv_heads, std::size_t length) {
    double difference = 0;
    double largest = 0;
    for (std::size_t i = 0; i < host_.size(); ++i) {
      std::vector<std::byte> got(host_[i].size_bytes());
      pair_.cuda().memory->download(got.data(), cuda_[i].data(), got.size());
      for (std::size_t at = 0; at < kv_heads * length * layout_.head_dim; ++at) {
        const std::size_t head = at / layout_.head_dim % kv_heads * layout_.head_bytes();
        const std::size_t place = at / layout_.head_dim / kv_heads;
        const double value = kernels::kv_element(layout_, got.data() + head, place, at % layout_.head_dim);
        const double want =
            kernels::kv_element(layout_, host_[i].data() + head, place, at % layout_.head_dim);
        difference = std::max(difference, std::abs(value - want));
        largest = std::max(largest, std::abs(want));
      }
    }
    return difference / largest;
  }
  /// What the GPU holds.
  std::vector<std::byte> cuda_bytes() {
    std::vector<std::byte> all;
    for (const Buffer& block : cuda_) {
      all.resize(all.size() + block.size_bytes());
      pair_.cuda().memory->download(all.data() + all.size() - block.size_bytes(), block.data(),
                                    block.size_bytes());
    }
    return all;
  }
  device::KvBlocks host() const { return {keys_.host, values_.host, 0, layout_.type}; }
  device::KvBlocks cuda() const { return {keys_.cuda, values_.cuda, 0, layout_.type}; }

 private:
  struct Side {
    std::vector<void*> host;
    std::vector<void*> cuda;
  };

  DevicePair& pair_;
  device::KvLayout layout_;
  std::vector<Buffer> host_;
  std::vector<Buffer> cuda_;
  Side keys_;
  Side values_;
};

std::vector<float> attend_cuda(DevicePair& pair, const KvTwin& kv, const HeadShape& shape, const Tensor& q,
                               std::span<const std::int32_t> begin, std::span<const std::int32_t> end) {
  const Tensor out = pair.arena().floats(q.shape);
  const device::AttentionCall call = {.out = out,
                                      .q = q,
                                      .kv_heads = shape.kv_heads,
                                      .scale = 0.1F,
                                      .kv = kv.cuda(),
                                      .key_begin = begin,
                                      .key_end = end};
  pair.cuda().attention(pair.stream(), {&call, 1});
  return pair.result(out);
}

}  // namespace

TEST_CASE("cuda: attention agrees with the reference, and a row alone has the bits it has among others") {
  DevicePair pair;
  for (const HeadShape& shape : {HeadShape{4, 2, 16}, HeadShape{16, 4, 256}, HeadShape{8, 1, 512},
                                 HeadShape{6, 6, 64}, HeadShape{4, 4, 80}, HeadShape{16, 1, 128}})
    for (device::KvType type : sizes({device::KvType::kF32, device::KvType::kBF16, device::KvType::kAffine8,
                                      device::KvType::kAffine6, device::KvType::kAffine4},
                                     {device::KvType::kF32, device::KvType::kBF16, device::KvType::kAffine6}))
      for (std::int32_t window : sizes({100000, 70}, {40})) {
        CAPTURE(shape.head_dim);
        CAPTURE(shape.q_heads);
        CAPTURE(window);
        CAPTURE(static_cast<int>(type));
        const ArenaScope host_scope(pair.host_arena());
        const ArenaScope scope(pair.arena());
        const std::int32_t length = sizes({700}, {300}).front();  // two parts of keys and more
        const std::int32_t count = sizes({90}, {68}).front();     // enough that most parts are not split
        KvTwin kv(pair, shape, type, static_cast<std::size_t>(length));
        CHECK(kv.same_bytes());
        const auto q = pair.twin(
            {count, static_cast<std::int64_t>(shape.q_heads), static_cast<std::int64_t>(shape.head_dim)}, 3);
        const auto out = pair.empty(q.host.shape);
        std::vector<std::int32_t> begin;
        std::vector<std::int32_t> end;
        for (std::int32_t r = 0; r < count; ++r) {
          end.push_back(length - count + r + 1);
          begin.push_back(std::max(0, end.back() - window));
        }
        const device::AttentionCall call = {.out = out.host,
                                            .q = q.host,
                                            .kv_heads = shape.kv_heads,
                                            .scale = 0.1F,
                                            .kv = kv.host(),
                                            .key_begin = begin,
                                            .key_end = end};
        pair.reference().attention(pair.reference_stream(), {&call, 1});
        const auto got = attend_cuda(pair, kv, shape, q.cuda, begin, end);
        const auto want = out.host.floats();
        double worst = 0;
        for (std::size_t i = 0; i < got.size(); ++i)
          worst = std::max(worst, std::abs(double(got[i]) - double(want[i])));
        // Values of order one; a score sums head_dim products, and an error in a score scales the weights.
        CHECK(worst <= 0x1p-24 * 4 * std::sqrt(double(shape.head_dim)) * 4);
        const std::size_t width = shape.q_heads * shape.head_dim;
        for (std::int64_t row : {0, 41, count - 1}) {
          const auto r = static_cast<std::size_t>(row);
          const auto alone = attend_cuda(pair, kv, shape, q.cuda.slice(row, row + 1),
                                         std::span(begin).subspan(r, 1), std::span(end).subspan(r, 1));
          CHECK(std::equal(alone.begin(), alone.end(), got.begin() + static_cast<std::ptrdiff_t>(r * width)));
        }
      }
}

TEST_CASE("cuda: heads are normed, rotated and stored as by the reference") {
  DevicePair pair;
  constexpr std::int64_t kRows = 5;
  for (const HeadShape& shape : {HeadShape{4, 2, 80}, HeadShape{3, 1, 512}})
    for (device::KvType type : {device::KvType::kF32, device::KvType::kAffine8}) {
      CAPTURE(shape.head_dim);
      CAPTURE(static_cast<int>(type));
      const ArenaScope host_scope(pair.host_arena());
      const ArenaScope scope(pair.arena());
      const auto dim = static_cast<std::int64_t>(shape.head_dim);
      const auto q_heads = static_cast<std::int64_t>(shape.q_heads);
      const auto kv_heads = static_cast<std::int64_t>(shape.kv_heads);
      const std::int64_t frequencies = dim / 4;
      const auto raw = pair.twin({kRows, 2 * q_heads * dim}, 1);  // queries beside gates
      const auto k = pair.twin({kRows, kv_heads, dim}, 2);
      const auto v = pair.twin({kRows, kv_heads, dim}, 3);
      const auto q_gain = pair.twin({dim}, 4);
      const auto k_gain = pair.twin({dim}, 5);
      const auto cos = pair.twin({kRows, frequencies}, 6);
      const auto sin = pair.twin({kRows, frequencies}, 7);
      const auto q = pair.empty({kRows, q_heads, dim});
      KvTwin kv(pair, shape, type, kRows);
      const auto run = [&](const device::Ops& ops, device::Stream& stream, const device::KvBlocks& blocks,
                           auto&& side) {
        const device::KvWrite writes[] = {{side(k), blocks.keys, 0, type, 0},
                                          {side(v), blocks.values, 0, type, 0}};
        ops.attention_heads(stream, {.q_out = side(q),
                                     .q = static_cast<const float*>(side(raw).data),
                                     .q_row = static_cast<std::size_t>(2 * q_heads * dim),
                                     .q_head = 2 * shape.head_dim,
                                     .k = side(k),
                                     .v = side(v),
                                     .q_gain = side(q_gain),
                                     .k_gain = side(k_gain),
                                     .q_eps = 1e-6F,
                                     .k_eps = 1e-6F,
                                     .v_eps = 1e-6F,
                                     .norm_values = type == device::KvType::kF32,
                                     .cos = side(cos),
                                     .sin = side(sin),
                                     .rope = {.head_dim = shape.head_dim,
                                              .frequencies = static_cast<std::size_t>(frequencies),
                                              .pair_offset = shape.head_dim / 2},
                                     .writes = std::span<const device::KvWrite>(writes)});
      };
      run(pair.reference(), pair.reference_stream(), kv.host(), [](const auto& twin) { return twin.host; });
      run(pair.cuda(), pair.stream(), kv.cuda(), [](const auto& twin) { return twin.cuda; });
      CHECK(pair.error(q) <= 512 * 0x1p-24);
      // What lies between two of 255 codes may be rounded to the other one.
      CHECK(kv.error(shape.kv_heads, kRows) <= (type == device::KvType::kF32 ? 512 * 0x1p-24 : 1.0 / 127));
    }
}

namespace {

/// A row of each of two sequences with its projections.
struct HeadRows {
  DevicePair::Twin raw, k, v, q_gain, k_gain, cos, sin;

  HeadRows(DevicePair& pair, const HeadShape& shape)
      : raw(pair.twin({2, 2 * floats(shape.q_heads, shape)}, 1)),
        k(pair.twin({2, extent(shape.kv_heads), extent(shape.head_dim)}, 2)),
        v(pair.twin(k.host.shape, 3)),
        q_gain(pair.twin({extent(shape.head_dim)}, 4)),
        k_gain(pair.twin({extent(shape.head_dim)}, 5)),
        cos(pair.twin({2, extent(shape.head_dim / 4)}, 6)),
        sin(pair.twin(cos.host.shape, 7)) {}

  static std::int64_t extent(std::size_t n) { return static_cast<std::int64_t>(n); }
  static std::int64_t floats(std::size_t heads, const HeadShape& shape) {
    return extent(heads * shape.head_dim);
  }
};

/// Their attention on the GPU: out, then the bytes of both caches.
struct Attended {
  std::vector<float> out;
  std::vector<std::byte> caches;
};

}  // namespace

TEST_CASE("cuda: a row of each sequence has the same bits by heads and attention in one go and apart") {
  DevicePair pair;
  struct Case {
    HeadShape shape;
    device::KvType type;
  };
  for (const auto& [shape, type] :
       {Case{{8, 2, 256}, device::KvType::kBF16}, Case{{16, 1, 512}, device::KvType::kBF16},
        Case{{32, 8, 128}, device::KvType::kBF16}, Case{{132, 132, 128}, device::KvType::kBF16},
        Case{{6, 2, 64}, device::KvType::kBF16}, Case{{8, 2, 256}, device::KvType::kAffine8}})
    for (std::int32_t length : sizes({1, 40, 64, 65, 257, 700}, {65, 300}))
      for (std::int32_t window : sizes({100000, 70}, {70}))
        for (bool owns : {true, false}) {
          CAPTURE(shape.head_dim);
          CAPTURE(length);
          CAPTURE(window);
          CAPTURE(owns);
          const ArenaScope host_scope(pair.host_arena());
          const ArenaScope scope(pair.arena());
          const HeadRows rows(pair, shape);
          // The second sequence is longer by one position.
          const std::vector<std::int32_t> end = {length, length + 1};
          const std::vector<std::int32_t> begin = {std::max(0, length - window),
                                                   std::max(0, length + 1 - window)};
          // Full layers of Gemma take keys as values, before the keys' norm.
          const Tensor values = window == 70 ? rows.k.cuda : rows.v.cuda;
          const auto run = [&](bool in_one) {
            KvTwin first(pair, shape, type, static_cast<std::size_t>(length));
            KvTwin second(pair, shape, type, static_cast<std::size_t>(length) + 1);
            const Shape heads_shape{2, HeadRows::extent(shape.q_heads), HeadRows::extent(shape.head_dim)};
            const Tensor q = pair.arena().floats(heads_shape);
            const Tensor out = pair.arena().floats(heads_shape);
            std::vector<device::KvWrite> writes;
            std::vector<device::AttentionCall> calls;
            for (std::size_t i = 0; i < 2; ++i) {
              const auto at = static_cast<std::int64_t>(i);
              device::KvBlocks kv = (i == 0 ? first : second).cuda();
              kv.first_block = static_cast<std::size_t>(begin[i]) / 64;  // those before left the window
              kv.keys = kv.keys.subspan(kv.first_block);
              kv.values = kv.values.subspan(kv.first_block);
              const auto position = static_cast<std::size_t>(end[i]) - 1;
              writes.push_back({rows.k.cuda.slice(at, at + 1), kv.keys, kv.first_block, type, position});
              writes.push_back({values.slice(at, at + 1), kv.values, kv.first_block, type, position});
              calls.push_back({.out = out.slice(at, at + 1),
                               .q = q.slice(at, at + 1),
                               .kv_heads = shape.kv_heads,
                               .scale = 0.1F,
                               .kv = kv,
                               .key_begin = std::span(begin).subspan(i, 1),
                               .key_end = std::span(end).subspan(i, 1)});
              const std::size_t width = 2 * shape.q_heads * shape.head_dim;
              calls.back().gate = static_cast<const float*>(rows.raw.cuda.data) + i * width + shape.head_dim;
              calls.back().gate_head = 2 * shape.head_dim;
            }
            device::AttentionHeads heads = {.q_out = q,
                                            .q = static_cast<const float*>(rows.raw.cuda.data),
                                            .q_row = rows.raw.cuda.columns(),
                                            .q_head = 2 * shape.head_dim,
                                            .q_gain = rows.q_gain.cuda,
                                            .q_eps = 1e-6F,
                                            .cos = rows.cos.cuda,
                                            .sin = rows.sin.cuda,
                                            .rope = {.head_dim = shape.head_dim,
                                                     .frequencies = shape.head_dim / 4,
                                                     .pair_offset = shape.head_dim / 2}};
            if (owns) {
              heads.k = rows.k.cuda;
              heads.v = values;
              heads.k_gain = rows.k_gain.cuda;
              heads.k_eps = heads.v_eps = 1e-6F;
              heads.norm_values = window == 70;
              heads.writes = writes;
            }
            if (in_one) {
              pair.cuda().attend_heads(pair.stream(), heads, calls);
            } else {
              pair.cuda().attention_heads(pair.stream(), heads);
              pair.cuda().attention(pair.stream(), calls);
            }
            Attended result{pair.result(out), first.cuda_bytes()};
            const auto more = second.cuda_bytes();
            result.caches.insert(result.caches.end(), more.begin(), more.end());
            return result;
          };
          const Attended want = run(false);
          const Attended got = run(true);
          CHECK(std::ranges::none_of(want.out, [](float v) { return std::isnan(v); }));
          CHECK(got.out == want.out);
          CHECK(got.caches == want.caches);
        }
}

TEST_CASE("cuda: convolution, history, gates, delta rule and fold agree with the reference") {
  DevicePair pair;
  constexpr std::int64_t kKeyHeads = 2;
  constexpr std::int64_t kHeads = 4;
  for (std::int64_t dim : {16, 128}) {
    CAPTURE(dim);
    const std::int64_t channels = 2 * kKeyHeads * dim + kHeads * dim;
    const auto history = pair.twin({3, channels}, 1);
    const auto w = pair.twin({4, channels}, 2);
    const auto state = pair.twin({kHeads, dim, dim}, 3);
    const auto next = pair.empty({kHeads, dim, dim});
    const auto keys = pair.empty({kKeyHeads, 64, dim});
    const auto values = pair.empty({kHeads, 64, dim});
    const auto decay = pair.empty({kHeads, 64});
    const auto a_log = pair.twin({kHeads}, 4);
    const auto dt = pair.twin({kHeads}, 5);
    std::size_t first = 0;
    for (std::int64_t rows : {1, 2, 30, 31}) {
      CAPTURE(first);
      const auto x = pair.twin({rows, channels}, 10 + first);
      const auto c = pair.empty({rows, channels});
      const auto b = pair.twin({rows, kHeads}, 20 + first);
      const auto a = pair.twin({rows, kHeads}, 30 + first);
      const auto out = pair.empty({rows, kHeads * dim});
      const auto run = [&](const device::Ops& ops, device::Stream& stream, auto&& side) {
        const device::CausalConvCall conv{side(c), side(x), static_cast<float*>(side(history).data)};
        ops.causal_conv(stream, {&conv, 1}, side(w));
        const device::HistoryPush push{static_cast<float*>(side(history).data), 3, side(x)};
        ops.push_history(stream, {&push, 1});
        ops.l2_norm(stream, side(c), 0, static_cast<std::size_t>(2 * kKeyHeads * dim),
                    static_cast<std::size_t>(dim), 1);
        ops.delta_net_gates(stream, side(b), side(a), side(a_log), side(dt));
        const device::DeltaNetCall call = {.out = side(out),
                                           .qkv = side(c),
                                           .beta = side(b),
                                           .log_decay = side(a),
                                           .first = first,
                                           .key_heads = kKeyHeads,
                                           .value_heads = kHeads,
                                           .key_dim = static_cast<std::size_t>(dim),
                                           .value_dim = static_cast<std::size_t>(dim),
                                           .chunk = 64,
                                           .state = static_cast<float*>(side(state).data),
                                           .entry_keys = static_cast<float*>(side(keys).data),
                                           .entry_values = static_cast<float*>(side(values).data),
                                           .entry_decay = static_cast<float*>(side(decay).data)};
        ops.delta_net(stream, {&call, 1});
      };
      run(pair.reference(), pair.reference_stream(), [](const auto& twin) { return twin.host; });
      run(pair.cuda(), pair.stream(), [](const auto& twin) { return twin.cuda; });
      CHECK(pair.error(c) <= 1e-5);
      CHECK(pair.error(history) == 0);
      CHECK(pair.error(out) <= 1e-4);
      first += static_cast<std::size_t>(rows);
    }
    const auto fold = [&](const device::Ops& ops, device::Stream& stream, auto&& side) {
      const device::DeltaFoldCall call = {.state = static_cast<float*>(side(state).data),
                                          .next_state = static_cast<float*>(side(next).data),
                                          .entry_keys = static_cast<float*>(side(keys).data),
                                          .entry_values = static_cast<float*>(side(values).data),
                                          .entry_decay = static_cast<float*>(side(decay).data),
                                          .entries = first,
                                          .key_heads = kKeyHeads,
                                          .value_heads = kHeads,
                                          .key_dim = static_cast<std::size_t>(dim),
                                          .value_dim = static_cast<std::size_t>(dim),
                                          .chunk = 64};
      ops.delta_fold(stream, {&call, 1});
    };
    fold(pair.reference(), pair.reference_stream(), [](const auto& twin) { return twin.host; });
    fold(pair.cuda(), pair.stream(), [](const auto& twin) { return twin.cuda; });
    CHECK(pair.error(next) <= 1e-4);
  }
}

TEST_CASE("cuda: a delta net's rows in one go have the bits of convolution, norms, gates and delta rule") {
  DevicePair pair;
  constexpr std::int64_t kKeyHeads = 2;
  for (std::int64_t group : {1, 2, 3})
    for (const auto& [key_dim, value_dim] :
         sizes<std::pair<std::int64_t, std::int64_t>>({{24, 40}, {128, 128}}, {{128, 128}})) {
      CAPTURE(group);
      CAPTURE(key_dim);
      const std::int64_t heads = kKeyHeads * group;
      const std::int64_t channels = 2 * kKeyHeads * key_dim + heads * value_dim;
      const ArenaScope host_scope(pair.host_arena());
      const ArenaScope scope(pair.arena());
      const auto w = pair.twin({4, channels}, 1);
      const auto a_log = pair.twin({heads}, 2);
      const auto dt = pair.twin({heads}, 3);
      const auto gain = pair.twin({value_dim}, 4);
      // Some rows of each sequence at a time; of small heads more sequences than fit the card at once.
      const std::uint64_t count = key_dim == 24 ? 150 : 2;
      const auto run = [&](bool in_one) {
        struct Sequence {
          Tensor history, state, keys, values, decay;
        };
        const auto& ops = pair.cuda();
        std::vector<Sequence> sequences;
        std::vector<float> results;
        const auto keep = [&](const Tensor& x) {
          const auto values = pair.result(x);
          results.insert(results.end(), values.begin(), values.end());
        };
        for (std::uint64_t i = 0; i < count; ++i)
          sequences.push_back(
              {pair.twin({3, channels}, 1000 + i).cuda, pair.twin({heads, key_dim, value_dim}, 2000 + i).cuda,
               pair.twin({kKeyHeads, 64, key_dim}, 3000 + i).cuda,
               pair.twin({heads, 64, value_dim}, 4000 + i).cuda, pair.twin({heads, 64}, 5000 + i).cuda});
        std::size_t first = 0;
        for (std::int64_t rows : {1, 2, 3, 8, 1, 8, 8, 1, 1}) {
          std::vector<device::DeltaMixCall> mixes;
          std::vector<Tensor> outs;
          for (std::uint64_t i = 0; i < count; ++i) {
            const Sequence& s = sequences[i];
            const std::uint64_t seed = 10000 * (first + 1) + 10 * i;
            const Tensor x = pair.twin({rows, channels}, seed).cuda;
            outs.push_back(pair.empty({rows, heads * value_dim}).cuda);
            mixes.push_back({.rows = {.out = outs.back(),
                                      .qkv = pair.empty({rows, channels}).cuda,
                                      .beta = pair.twin({rows, heads}, seed + 2).cuda,
                                      .log_decay = pair.twin({rows, heads}, seed + 4).cuda,
                                      .first = first,
                                      .key_heads = static_cast<std::size_t>(kKeyHeads),
                                      .value_heads = static_cast<std::size_t>(heads),
                                      .key_dim = static_cast<std::size_t>(key_dim),
                                      .value_dim = static_cast<std::size_t>(value_dim),
                                      .chunk = 64,
                                      .state = static_cast<float*>(s.state.data),
                                      .entry_keys = static_cast<float*>(s.keys.data),
                                      .entry_values = static_cast<float*>(s.values.data),
                                      .entry_decay = static_cast<float*>(s.decay.data)},
                             .x = x,
                             .history = static_cast<const float*>(s.history.data),
                             .push = {static_cast<float*>(s.history.data), 3, x},
                             .z = pair.twin({rows, heads * value_dim}, seed + 6).cuda});
          }
          if (in_one)
            ops.delta_mix(pair.stream(), mixes,
                          {.conv = w.cuda,
                           .a_log = a_log.cuda,
                           .dt_bias = dt.cuda,
                           .gain = gain.cuda,
                           .eps = 1e-6F,
                           .query_scale = 0.2F});
          for (const device::DeltaMixCall& mix : mixes) {
            const auto width = static_cast<std::size_t>(kKeyHeads * key_dim);
            const auto dim = static_cast<std::size_t>(key_dim);
            if (!in_one) {
              const device::CausalConvCall conv{mix.rows.qkv, mix.x, mix.history};
              ops.causal_conv(pair.stream(), {&conv, 1}, w.cuda);
              ops.push_history(pair.stream(), {&mix.push, 1});
              ops.l2_norm(pair.stream(), mix.rows.qkv, 0, width, dim, 0.2F);
              ops.l2_norm(pair.stream(), mix.rows.qkv, width, width, dim, 1.0F);
              ops.delta_net_gates(pair.stream(), mix.rows.beta, mix.rows.log_decay, a_log.cuda, dt.cuda);
              ops.delta_net(pair.stream(), {&mix.rows, 1});
              const Tensor out = mix.rows.out.reshaped({rows * heads, value_dim});
              ops.gated_rms_norm(pair.stream(), out, out, mix.z, gain.cuda, 1e-6F);
            }
            for (const Tensor& x : {mix.rows.out, mix.rows.qkv, mix.rows.beta, mix.rows.log_decay}) keep(x);
          }
          first += static_cast<std::size_t>(rows);
        }
        for (const Sequence& s : sequences)
          for (const Tensor& x : {s.history, s.keys, s.values, s.decay}) keep(x);
        return results;
      };
      const auto want = run(false);
      CHECK(std::ranges::none_of(want, [](float v) { return std::isnan(v); }));
      CHECK(run(true) == want);
    }
}

TEST_CASE("cuda: a run of rows through several chunks has the bits of rows and folds one by one") {
  DevicePair pair;
  constexpr std::int64_t kKeyHeads = 2;
  constexpr std::int64_t kHeads = 4;
  const std::int64_t count = sizes({150}, {70}).front();  // a fold and an open chunk at least
  for (std::int64_t dim : {16, 128})
    for (std::int64_t alone : sizes({1, 8, 40}, {40})) {
      CAPTURE(dim);
      CAPTURE(alone);
      const ArenaScope host_scope(pair.host_arena());
      const ArenaScope scope(pair.arena());
      const auto qkv = pair.twin({count, 2 * kKeyHeads * dim + kHeads * dim}, 1);
      for (float& v : qkv.host.floats()) v /= std::sqrt(float(dim));
      const auto beta = pair.twin({count, kHeads}, 2);
      const auto decay = pair.twin({count, kHeads}, 3);
      for (float& v : decay.host.floats()) v = -std::abs(v) * 0.1F;
      for (const auto* twin : {&qkv, &decay}) pair.upload(*twin);
      struct Cache {
        DevicePair::Twin state;
        DevicePair::Twin keys;
        DevicePair::Twin values;
        DevicePair::Twin decay;
        DevicePair::Twin out;
      };
      const auto cache = [&] {
        return Cache{pair.twin({kHeads, dim, dim}, 9), pair.empty({kKeyHeads, 64, dim}),
                     pair.empty({kHeads, 64, dim}), pair.empty({kHeads, 64}),
                     pair.empty({count, kHeads * dim})};
      };
      const auto run = [&](const Cache& to, std::int64_t begin, std::int64_t end, std::size_t first,
                           bool folds) {
        const device::DeltaNetCall call = {
            .out = to.out.cuda.slice(begin, end),
            .qkv = qkv.cuda.slice(begin, end),
            .beta = beta.cuda.slice(begin, end),
            .log_decay = decay.cuda.slice(begin, end),
            .first = first,
            .key_heads = kKeyHeads,
            .value_heads = kHeads,
            .key_dim = static_cast<std::size_t>(dim),
            .value_dim = static_cast<std::size_t>(dim),
            .chunk = 64,
            .state = static_cast<float*>(to.state.cuda.data),
            .next_state = folds ? static_cast<float*>(to.state.cuda.data) : nullptr,
            .entry_keys = static_cast<float*>(to.keys.cuda.data),
            .entry_values = static_cast<float*>(to.values.cuda.data),
            .entry_decay = static_cast<float*>(to.decay.cuda.data)};
        pair.cuda().delta_net(pair.stream(), {&call, 1});
      };
      const Cache one = cache();
      run(one, 0, count, 0, true);
      const Cache other = cache();
      std::size_t first = 0;
      for (std::int64_t begin = 0; begin < count;) {
        const std::int64_t end =
            std::min({begin + alone, count, begin + 64 - static_cast<std::int64_t>(first)});
        run(other, begin, end, first, false);
        first += static_cast<std::size_t>(end - begin);
        begin = end;
        if (first < 64) continue;
        const device::DeltaFoldCall fold = {.state = static_cast<float*>(other.state.cuda.data),
                                            .next_state = static_cast<float*>(other.state.cuda.data),
                                            .entry_keys = static_cast<float*>(other.keys.cuda.data),
                                            .entry_values = static_cast<float*>(other.values.cuda.data),
                                            .entry_decay = static_cast<float*>(other.decay.cuda.data),
                                            .entries = 64,
                                            .key_heads = kKeyHeads,
                                            .value_heads = kHeads,
                                            .key_dim = static_cast<std::size_t>(dim),
                                            .value_dim = static_cast<std::size_t>(dim),
                                            .chunk = 64};
        pair.cuda().delta_fold(pair.stream(), {&fold, 1});
        first = 0;
      }
      const auto bits_equal = [&](const Tensor& a, const Tensor& b) {
        return pair.result(a) == pair.result(b);
      };
      CHECK(bits_equal(one.out.cuda, other.out.cuda));
      CHECK(bits_equal(one.state.cuda, other.state.cuda));
      const auto open = [&](const Tensor& entries, std::int64_t heads) {
        const auto all = pair.result(entries);
        std::vector<float> kept;
        const std::size_t width = all.size() / static_cast<std::size_t>(heads * 64);
        for (std::size_t h = 0; h < static_cast<std::size_t>(heads); ++h)
          kept.insert(kept.end(), all.begin() + static_cast<std::ptrdiff_t>(h * 64 * width),
                      all.begin() + static_cast<std::ptrdiff_t>((h * 64 + first) * width));
        return kept;
      };
      CHECK(open(one.keys.cuda, kKeyHeads) == open(other.keys.cuda, kKeyHeads));
      CHECK(open(one.values.cuda, kHeads) == open(other.values.cuda, kHeads));
      CHECK(open(one.decay.cuda, kHeads) == open(other.decay.cuda, kHeads));
    }
}

}  // namespace lanner::test
