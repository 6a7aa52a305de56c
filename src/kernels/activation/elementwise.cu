// SPDX-License-Identifier: MIT
#include "kernels/activation/elementwise.cuda.h"
#include "kernels/cuda/device.cuh"

namespace lanner::kernels {
namespace {

constexpr unsigned kThreads = 256;

template <typename F>
__global__ void map_kernel(float* out, const float* a, const float* b, std::size_t count, F f) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) out[i] = f(a[i], b[i]);
}

// Fast because a thread asks for 16 bytes of each input at once.
template <typename F>
__global__ void map_vectors_kernel(float4* out, const float4* a, const float4* b, std::size_t count, F f) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 x = a[i];
  const float4 y = b[i];
  out[i] = {f(x.x, y.x), f(x.y, y.y), f(x.z, y.z), f(x.w, y.w)};
}

bool in_vectors(const float* x) { return reinterpret_cast<std::uintptr_t>(x) % sizeof(float4) == 0; }

template <typename F>
void map(CudaQueue& queue, float* out, const float* a, const float* b, std::size_t count, F f) {
  if (count % 4 == 0 && in_vectors(out) && in_vectors(a) && in_vectors(b))
    return queue.launch(map_vectors_kernel<F>, {blocks_for(count / 4, kThreads)}, {kThreads},
                        reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(a),
                        reinterpret_cast<const float4*>(b), count / 4, f);
  queue.launch(map_kernel<F>, {blocks_for(count, kThreads)}, {kThreads}, out, a, b, count, f);
}

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Copy {
  __device__ float operator()(float a, float /*b*/) const { return a; }
};
struct Scale {
  float factor;
  __device__ float operator()(float a, float /*b*/) const { return a * factor; }
};
// 1 + tanh(u) = 2 sigmoid(2u): the same function without the cancellation for negative x.
struct GeluMul {
  __device__ float operator()(float x, float up) const {
    const float u = 0.79788456080286536F * (x + 0.044715F * x * x * x);
    return x / (1.0F + expf(-2.0F * u)) * up;
  }
};
struct SiluMul {
  __device__ float operator()(float x, float up) const { return x / (1.0F + expf(-x)) * up; }
};
struct Softcap {
  float cap;
  __device__ float operator()(float x, float /*b*/) const { return cap * tanhf(x / cap); }
};

__global__ void gate_rows_kernel(float* out, const float* x, const float* gate, std::size_t columns) {
  begin_kernel();
  const float g = 1.0F + expf(-gate[blockIdx.y]);
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < columns) out[blockIdx.y * columns + i] = x[blockIdx.y * columns + i] / g;
}

__global__ void take_rows_kernel(float* out, const float* x, const std::uint32_t* source,
                                 std::size_t columns) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < columns) out[blockIdx.y * columns + i] = x[std::size_t{source[blockIdx.y]} * columns + i];
}

__global__ void swap_axes_kernel(float* out, const float* x, std::size_t a_extent, std::size_t b_extent,
                                 std::size_t columns) {
  begin_kernel();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= a_extent * b_extent * columns) return;
  const std::size_t row = i / columns;
  out[(row % b_extent * a_extent + row / b_extent) * columns + i % columns] = x[i];
}

// One thread walks one channel upwards, so a row is read before it is overwritten.
__global__ void push_history_kernel(const HistoryPushCuda* pushes, std::size_t channels) {
  begin_kernel();
  const HistoryPushCuda push = pushes[blockIdx.y];
  const std::size_t channel = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  for (unsigned i = 0; i < push.kept; ++i) {
    const std::size_t from = i + push.rows;
    push.history[i * channels + channel] = from < push.kept ? push.history[from * channels + channel]
                                                            : push.x[(from - push.kept) * channels + channel];
  }
}

/// The largest value and where it stands; ties: the first.
struct Largest {
  float value;
  int place;
};

__device__ Largest larger(const Largest& a, const Largest& b) {
  return b.value > a.value || (b.value == a.value && b.place < a.place) ? b : a;
}

/// The largest of a block, for thread 0.
__device__ Largest block_largest(Largest mine) {
  __shared__ Largest warps[32];
  const auto join = [&] {
    for (int offset = 16; offset > 0; offset /= 2)
      mine = larger(mine, {__shfl_xor_sync(0xffffffffU, mine.value, offset),
                           __shfl_xor_sync(0xffffffffU, mine.place, offset)});
  };
  join();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : Largest{-INFINITY, 0x7fffffff};
  join();
  return mine;
}

__global__ void argmax_parts_kernel(Largest* parts, const float* x, unsigned columns) {
  begin_kernel();
  const float* row = x + std::size_t{blockIdx.y} * columns;
  Largest mine = {-INFINITY, 0x7fffffff};
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += gridDim.x * blockDim.x)
    if (row[i] > mine.value) mine = {row[i], int(i)};
  mine = block_largest(mine);
  if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = mine;
}

__global__ void argmax_join_kernel(std::int32_t* out, const Largest* parts, unsigned count) {
  begin_kernel();
  Largest mine = {-INFINITY, 0x7fffffff};
  if (threadIdx.x < count) mine = parts[blockIdx.x * count + threadIdx.x];
  mine = block_largest(mine);
  if (threadIdx.x == 0) out[blockIdx.x] = mine.place == 0x7fffffff ? 0 : mine.place;
}

}  // namespace

void argmax_cuda(CudaQueue& queue, std::int32_t* out, const float* x, std::size_t rows, std::size_t columns,
                 void* scratch) {
  auto* parts = static_cast<Largest*>(scratch);
  queue.launch(argmax_parts_kernel, {kArgmaxParts, blocks_for(rows, 1)}, {kThreads}, parts, x, columns);
  queue.launch(argmax_join_kernel, {blocks_for(rows, 1)}, {kThreads}, out, parts, kArgmaxParts);
}

void add_cuda(CudaQueue& queue, float* out, const float* a, const float* b, std::size_t count) {
  map(queue, out, a, b, count, Add{});
}

void copy_cuda(CudaQueue& queue, float* out, const float* x, std::size_t count) {
  map(queue, out, x, x, count, Copy{});
}

void scale_cuda(CudaQueue& queue, float* out, const float* x, float factor, std::size_t count) {
  map(queue, out, x, x, count, Scale{factor});
}

void gelu_mul_cuda(CudaQueue& queue, float* out, const float* gate, const float* up, std::size_t count) {
  map(queue, out, gate, up, count, GeluMul{});
}

void silu_mul_cuda(CudaQueue& queue, float* out, const float* gate, const float* up, std::size_t count) {
  map(queue, out, gate, up, count, SiluMul{});
}

void softcap_cuda(CudaQueue& queue, float* out, const float* x, float cap, std::size_t count) {
  map(queue, out, x, x, count, Softcap{cap});
}

void gate_rows_cuda(CudaQueue& queue, float* out, const float* x, const float* gate, std::size_t rows,
                    std::size_t columns) {
  queue.launch(gate_rows_kernel, {blocks_for(columns, kThreads), blocks_for(rows, 1)}, {kThreads}, out, x,
               gate, columns);
}

void take_rows_cuda(CudaQueue& queue, float* out, const float* x, const std::uint32_t* source,
                    std::size_t rows, std::size_t columns) {
  queue.launch(take_rows_kernel, {blocks_for(columns, kThreads), blocks_for(rows, 1)}, {kThreads}, out, x,
               source, columns);
}

void swap_axes_cuda(CudaQueue& queue, float* out, const float* x, const std::array<std::size_t, 3>& extents) {
  queue.launch(swap_axes_kernel, {blocks_for(extents[0] * extents[1] * extents[2], kThreads)}, {kThreads},
               out, x, extents[0], extents[1], extents[2]);
}

void push_history_cuda(CudaQueue& queue, const HistoryPushCuda* pushes, std::size_t count,
                       std::size_t channels) {
  queue.launch(push_history_kernel, {blocks_for(channels, kThreads), blocks_for(count, 1)}, {kThreads},
               pushes, channels);
}

}  // namespace lanner::kernels
