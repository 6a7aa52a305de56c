// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/arena.h"
#include "core/cpu_features.h"
#include "core/tensor.h"
#include "core/token.h"
#include "device/matrix.h"
#include "device/sampling.h"
#include "device/stream.h"

namespace lanner::device {

/// Positions in one block of keys and values.
inline constexpr std::size_t kKvBlock = kernels::kKvBlock;
/// How keys and values are stored, and what a block of them takes; see kernels/attention/kv_type.h.
using kernels::kKvGroup;
using kernels::KvLayout;
using kernels::KvType;
using kernels::parse_kv_type;
/// Most positions of a delta net's chunk on any device; each is a divisor of it.
inline constexpr std::size_t kMostDeltaChunk = kernels::kMostDeltaChunk;

/// Heads and rotating pairs of a rotary embedding; see kernels/rope/rope.h.
struct RopeShape {
  std::size_t head_dim = 0;
  std::size_t frequencies = 0;
  std::size_t pair_offset = 0;
};

/// What a rotary embedding turns by: row t, frequency f by positions[t][axes[f]] * inverse_frequencies[f].
struct RopeAngles {
  std::span<const float> inverse_frequencies;              ///< [F]
  std::span<const std::uint8_t> axes;                      ///< [F], each 0, 1 or 2
  std::span<const std::array<std::int32_t, 3>> positions;  ///< [T]
  float amplitude = 1;                                     ///< multiplies cosines and sines
};

/// Blocks of 64 positions that hold one sequence's keys and values of one layer.
struct KvBlocks {
  std::span<void* const> keys;
  std::span<void* const> values;
  std::size_t first_block = 0;
  KvType type = KvType::kF32;
};

/// Rows of keys, or of values, on their way to positions [position, position + T) of one sequence's blocks.
struct KvWrite {
  Tensor x;  ///< [T, heads, D]
  std::span<void* const> blocks;
  std::size_t first_block = 0;
  KvType type = KvType::kF32;
  std::size_t position = 0;
};

/// Queries of one sequence against its keys. Row r reads positions [key_begin[r], key_end[r]).
struct AttentionCall {
  Tensor out;  ///< [T, Hq, D]
  Tensor q;    ///< [T, Hq, D]
  std::size_t kv_heads = 0;
  float scale = 1;
  KvBlocks kv;
  std::span<const std::int32_t> key_begin;
  std::span<const std::int32_t> key_end;
  /// Where set, outputs of row t, head h are multiplied by the sigmoid of the D gates at
  /// (t * Hq + h) * gate_head.
  const float* gate = nullptr;
  std::size_t gate_head = 0;
};

/// The projections of rows on their way to attention: q, k, v normed per head, q and k rotated, k and v into
/// their caches.
struct AttentionHeads {
  Tensor q_out;              ///< [T, Hq, D]
  const float* q = nullptr;  ///< row t, head h at t * q_row + h * q_head
  std::size_t q_row = 0;
  std::size_t q_head = 0;
  Tensor k = {};       ///< [T, Hk, D]; not set: queries only
  Tensor v = {};       ///< [T, Hk, D]; may be k
  Tensor q_gain = {};  ///< [D]
  Tensor k_gain = {};  ///< [D]
  float q_eps = 0;
  float k_eps = 0;
  float v_eps = 0;
  bool norm_values = false;  ///< without gain
  Tensor cos = {};           ///< [T, F]
  Tensor sin = {};           ///< [T, F]
  RopeShape rope;
  std::span<const KvWrite> writes = {};  ///< of k, then of v, for each group in turn; x as in k and v
};

/// Rows of one sequence through its causal convolution.
struct CausalConvCall {
  Tensor out;                      ///< [T, C]
  Tensor x;                        ///< [T, C]
  const float* history = nullptr;  ///< [taps-1, C]
};

/// history [rows, C] becomes the last `rows` rows of history followed by x [T, C].
struct HistoryPush {
  float* history = nullptr;
  std::size_t rows = 0;
  Tensor x;
};

/// The gated delta rule over rows of one sequence inside one chunk of positions, or with next_state any
/// number of rows; see kernels/delta_net/delta_net.h.
struct DeltaNetCall {
  Tensor out;        ///< [T, Hv, dv]
  Tensor qkv;        ///< [T, Hk*dk | Hk*dk | Hv*dv], q and k L2-normalised
  Tensor beta;       ///< [T, Hv]
  Tensor log_decay;  ///< [T, Hv]
  std::size_t first = 0;
  std::size_t key_heads = 0;
  std::size_t value_heads = 0;
  std::size_t key_dim = 0;
  std::size_t value_dim = 0;
  std::size_t chunk = 0;  ///< Ops::delta_chunk
  const float* state = nullptr;
  /// Where chunks that the rows fill are folded to; may be state.
  float* next_state = nullptr;
  float* entry_keys = nullptr;
  float* entry_values = nullptr;
  float* entry_decay = nullptr;
};

/// A few rows of one sequence through the gated delta net after its projections.
struct DeltaMixCall {
  DeltaNetCall rows;               ///< qkv: room for the convolution's output
  Tensor x;                        ///< [T, channels], what the convolution reads
  const float* history = nullptr;  ///< [taps-1, channels]
  HistoryPush push;
  Tensor z;  ///< [T, Hv*dv]
};
struct DeltaMixWeights {
  Tensor conv;     ///< [taps, channels]
  Tensor a_log;    ///< [Hv]
  Tensor dt_bias;  ///< [Hv]
  Tensor gain;     ///< [dv] of the outputs' norm
  float eps = 0;
  float query_scale = 1;
};

/// Ends a chunk: next_state = decayed state plus the chunk's entries.
struct DeltaFoldCall {
  const float* state = nullptr;
  float* next_state = nullptr;
  const float* entry_keys = nullptr;
  const float* entry_values = nullptr;
  const float* entry_decay = nullptr;
  std::size_t entries = 0;
  std::size_t key_heads = 0;
  std::size_t value_heads = 0;
  std::size_t key_dim = 0;
  std::size_t value_dim = 0;
  std::size_t chunk = 0;
};

/// (x + norm(y) * gain) * factor, as add_norm() forms it.
struct NormedSum {
  Tensor x;     ///< [T, K]
  Tensor y;     ///< [T, K]
  Tensor gain;  ///< [K]
  float eps = 0;
  float factor = 1;
};

/// norm(x) * gain, as a part of a sum.
struct NormedPart {
  Tensor x;     ///< [T, K]
  Tensor gain;  ///< [K]
  float eps = 0;
};

/// Rows on their way into products: x [T, K], or its RMS norm.
struct ProductInput {
  Tensor x;
  bool norm = false;
  Tensor gain = {};  ///< [K] or empty
  float eps = 0;
  /// Where it is set, x is yet to be written: it becomes this sum, of whose parts it is none.
  std::optional<NormedSum> sum = {};
};

/// Most products that may share one input.
inline constexpr std::size_t kMaxLinearCalls = 8;

/// Which gated activation an expert or feed-forward uses.
enum class GatedActivation : std::uint8_t { kGeluTanh, kSilu };

/// One product of several that share their input: out [T, N] = in wᵀ, plus residual [T, N], which is not out,
/// where it is set; or act(in wᵀ) * up where up is.
struct LinearCall {
  Tensor out;
  const Matrix* w = nullptr;
  Tensor residual = {};
  Tensor up = {};  ///< [T, N], not out; not with a residual
  GatedActivation activation = GatedActivation::kGeluTanh;
};

/// A matrix [N, K] of low rank, scale * b a: what a LoRA adapter adds to a weight. Source: Hu et al. 2021.
struct LowRank {
  const Matrix* a = nullptr;  ///< [R, K]
  const Matrix* b = nullptr;  ///< [N, R]
  float scale = 1;
};

/// Low-rank additions to rows of one product.
struct LowRankCall {
  Tensor out;                      ///< [T, N], the product x wᵀ
  Tensor x;                        ///< [T, K]
  std::span<const LowRank> parts;  ///< summed in this order, then added to out
};

/// A feed-forward: out = residual + down (act(in gateᵀ) * (in upᵀ)).
struct FeedForwardCall {
  Tensor out;            ///< [T, D], not residual
  Tensor residual = {};  ///< [T, D], added, where it is set
  ProductInput in;
  Tensor gated;                  ///< [T, F], in which it may work
  const Matrix* gate = nullptr;  ///< [F, K]
  const Matrix* up = nullptr;    ///< [F, K]
  const Matrix* down = nullptr;  ///< [D, F]
  GatedActivation activation = GatedActivation::kSilu;
};

/// Routed experts over packed rows: out[t] = sum_k w[t,k] * down_e( act(gate_e x[t]) * up_e x[t] ), e =
/// experts[t,k], added in ascending k. Each stack holds E matrices as one with E*rows rows.
struct ExpertsCall {
  Tensor out;                             ///< [T, D]
  Tensor x;                               ///< [T, D]
  std::span<const std::int32_t> experts;  ///< [T, K], ascending within a row
  std::span<const float> weights;         ///< [T, K]
  std::span<const Matrix> gate;           ///< E of [F, D]
  std::span<const Matrix> up;             ///< E of [F, D]
  std::span<const Matrix> down;           ///< E of [D, F]
  GatedActivation activation = GatedActivation::kSilu;
};

/// Top-k routing of rows. The outputs lie in the device's memory.
struct RouteCall {
  std::span<std::int32_t> experts;  ///< [T, K], ascending within a row
  std::span<float> weights;         ///< [T, K]
  Tensor logits;                    ///< [T, E]
  Tensor expert_scale;  ///< [E], multiplies the weights after they were renormalised; may be empty
  std::size_t k = 0;
};

/// Routed experts over `in` [T, D], which is no sum, as RouteCall and ExpertsCall say; with a shared gate the
/// last of the matrices are one more expert's, which all rows take.
struct RoutedExpertsCall {
  Tensor out;            ///< [T, D]
  Tensor residual = {};  ///< [T, D], added, where it is set
  ProductInput in;
  Tensor logits;             ///< [T, E]
  Tensor expert_scale = {};  ///< [E] or empty
  Tensor shared_gate = {};   ///< [T, 1], whose sigmoid weighs the last expert; or empty
  std::size_t k = 0;
  std::span<const Matrix> gate;  ///< E of [F, D]
  std::span<const Matrix> up;    ///< E of [F, D]
  std::span<const Matrix> down;  ///< E of [D, F]
  GatedActivation activation = GatedActivation::kSilu;
};

class CudaDevice;

/// Every operation a layer may call, for one device; filled once by cpu_ops() or cuda_ops(). Shapes are
/// checked in every build (Error kInternal). Rows never influence each other, so any packing of rows gives
/// the same bits. On a GPU operations are queued; host_floats() waits for them.
struct Ops {
  std::string_view device;  ///< "cpu/avx2", "cuda:0"
  Isa isa = Isa::kReference;
  Memory* memory = &host_memory();  ///< where tensors, weights and caches of this device live
  CudaDevice* cuda = nullptr;       ///< the GPU of cuda_ops(), which outlives the table
  /// Positions after which a delta net's state is rewritten. Until then each row reads the rows before it:
  /// the longer, the more bytes a decode step reads, and the fewer times a prompt writes the state.
  std::size_t delta_chunk = kMostDeltaChunk;

  /// out[t] = table[ids[t]] * scale
  void (*embed)(Stream&, const Tensor& out, const Matrix& table, std::span<const TokenId> ids, float scale);
  /// w of rank 0 with no data: without a gain. Rows are the innermost axis of x.
  void (*rms_norm)(Stream&, const Tensor& out, const Tensor& x, const Tensor& w, float eps);
  /// Rows of length dim at any stride inside x (the q or k part of a packed row), in place.
  void (*l2_norm)(Stream&, const Tensor& x, std::size_t begin, std::size_t count, std::size_t dim,
                  float scale);
  void (*gated_rms_norm)(Stream&, const Tensor& out, const Tensor& x, const Tensor& z, const Tensor& w,
                         float eps);
  /// cos, sin [T, F]; angles in float, as the reference computes them.
  void (*rope_tables)(Stream&, const Tensor& cos, const Tensor& sin, const RopeAngles& angles);
  void (*add)(Stream&, const Tensor& out, const Tensor& a, const Tensor& b);
  /// out = (x + norm(y) * gain) * factor; out may be x.
  void (*add_norm)(Stream&, const Tensor& out, const Tensor& x, const Tensor& y, const Tensor& gain,
                   float eps, float factor);
  /// out = norm(x) * x_gain + norm(y) * y_gain; out may be either. Or nullptr: by two of the above.
  void (*add_norms)(Stream&, const Tensor& out, const NormedPart& x, const NormedPart& y) = nullptr;
  void (*scale)(Stream&, const Tensor& out, const Tensor& x, float factor);
  void (*gated_activation)(Stream&, const Tensor& out, const Tensor& gate, const Tensor& up, GatedActivation);
  /// out[t] = x[t] * sigmoid(gate[t]); x, out [T, D], gate [T, 1]
  void (*gate_rows)(Stream&, const Tensor& out, const Tensor& x, const Tensor& gate);
  void (*softcap)(Stream&, const Tensor& out, const Tensor& x, float cap);
  /// out = x, of equal element count.
  void (*copy)(Stream&, const Tensor& out, const Tensor& x);
  /// out[i] = x[rows[i]]
  void (*take_rows)(Stream&, const Tensor& out, const Tensor& x, std::span<const std::size_t> rows);
  /// out[b, a] = x[a, b]; x [A, B, D], out [B, A, D]
  void (*swap_axes)(Stream&, const Tensor& out, const Tensor& x);
  void (*push_history)(Stream&, std::span<const HistoryPush> pushes);
  /// The values of a float tensor on the host, once everything queued before is done. Valid until the next
  /// call.
  std::span<float> (*host_floats)(Stream&, const Tensor& x);
  /// True when the device failed for good: after an error, nothing will work on it any more until it is
  /// opened anew. Not set where that does not happen.
  bool (*is_lost)(const Ops& ops) = nullptr;
  /// out[t] = the index of the largest of row t, ties: the lowest; on the host, once everything queued before
  /// is done.
  void (*argmax)(Stream&, std::span<TokenId> out, const Tensor& x);
  /// Chooses tokens from rows of logits [T, V] where these are, several from one row if asked; on the host,
  /// once everything queued before is done. Not set where the logits are the host's anyway.
  void (*sample)(Stream&, std::span<SampleResult> out, const Tensor& logits,
                 std::span<const SampleJob> jobs) = nullptr;
  /// Rearranges a weight in the device's memory for its products; nothing for formats that stay as they are.
  /// Not set on the CPU, whose matrices stay mapped. Without `cuda`, as in plan_ops(), room is made and not
  /// filled.
  std::shared_ptr<const TiledMatrix> (*tile)(const Ops& ops, const kernels::WeightView& weight,
                                             Compute compute) = nullptr;
  /// Products of one input with several matrices.
  void (*linear)(Stream&, std::span<const LinearCall> calls, const ProductInput& in);
  /// out [T, N] = act(in gateᵀ) * (in upᵀ)
  void (*gated_linear)(Stream&, const Tensor& out, const Matrix& gate, const Matrix& up,
                       const ProductInput& in, GatedActivation);
  /// True when feed_forward() takes this many rows through such matrices. Neither is set on the CPU.
  bool (*can_feed_forward)(std::size_t rows, const Matrix& gate, const Matrix& up,
                           const Matrix& down) = nullptr;
  /// To the bits of gated_linear() and linear() one after the other.
  void (*feed_forward)(Stream&, const FeedForwardCall& call) = nullptr;
  /// out += sum over parts of (scale * (x aᵀ)) bᵀ, each product as linear() forms it. Not set on a GPU.
  void (*add_low_rank)(Stream&, std::span<const LowRankCall> calls) = nullptr;
  // Of the operations on caches, one call takes the rows of every sequence of a step: equal head counts and
  // sizes.
  void (*attention_heads)(Stream&, const AttentionHeads& heads);
  /// attention_heads() and the attention of its queries, to their bits; heads.q_out is the queries' room. Not
  /// set on the CPU.
  void (*attend_heads)(Stream&, const AttentionHeads& heads, std::span<const AttentionCall> calls) = nullptr;
  void (*write_kv)(Stream&, std::span<const KvWrite> writes);
  void (*attention)(Stream&, std::span<const AttentionCall> calls);
  /// w [taps, C]
  void (*causal_conv)(Stream&, std::span<const CausalConvCall> calls, const Tensor& w);
  /// beta and log_decay [T, H] from the projections b and a, in place.
  void (*delta_net_gates)(Stream&, const Tensor& b, const Tensor& a, const Tensor& a_log,
                          const Tensor& dt_bias);
  void (*delta_net)(Stream&, std::span<const DeltaNetCall> calls);
  void (*delta_fold)(Stream&, std::span<const DeltaFoldCall> calls);
  /// True when delta_mix() takes this many rows of a sequence with kernels of these sizes.
  bool (*can_mix)(std::size_t rows, std::size_t taps);
  /// Convolution, history, norms, gates, delta rule, gated norm, to the bits of the operations above; beta
  /// and log_decay of the calls hold the projections b and a before. Every sequence's rows stay in its open
  /// chunk.
  void (*delta_mix)(Stream&, std::span<const DeltaMixCall> calls, const DeltaMixWeights& weights);
  void (*route)(Stream&, const RouteCall& call);
  void (*experts)(Stream&, Arena&, const ExpertsCall& call);
  /// Both in one go. Not set on the CPU.
  void (*routed_experts)(Stream&, Arena&, const RoutedExpertsCall& call) = nullptr;
};

/// The operations on this machine's CPU; throws Error kUnsupported when it cannot run the instruction set.
/// With Compute::kInt8, attention multiplies integers too; see kernels/attention/attention_int16.h.
Ops cpu_ops(Isa isa, Compute compute = Compute::kExact);

}  // namespace lanner::device
