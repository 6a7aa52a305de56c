// SPDX-License-Identifier: MIT
#include "kernels/cuda/device.cuh"
#include "kernels/roofline/roofline.cuda.h"

namespace lanner::kernels {
namespace {

constexpr unsigned kCopyThreads = 512;
constexpr unsigned kTogether = 4;  // vectors of a thread on their way

__global__ void copy_bytes_kernel(uint4* to, const uint4* from, std::size_t count) {
  begin_kernel();
  const std::size_t stride = std::size_t{gridDim.x} * kCopyThreads;
  std::size_t i = std::size_t{blockIdx.x} * kCopyThreads + threadIdx.x;
  for (; i + (kTogether - 1) * stride < count; i += kTogether * stride) {
    uint4 v[kTogether];
#pragma unroll
    for (unsigned j = 0; j < kTogether; ++j) v[j] = __ldcs(from + i + j * stride);
#pragma unroll
    for (unsigned j = 0; j < kTogether; ++j) __stcs(to + i + j * stride, v[j]);
  }
  for (; i < count; i += stride) to[i] = from[i];
}

constexpr unsigned kGroups = 2;  // of 4 warps in a block
constexpr unsigned kSteps = 4096;
constexpr unsigned kColumns = 256;
constexpr unsigned kSharedHalves = kColumns * 16;

/// 64 by kColumns by 16 of a warpgroup: as one instruction, or as many small ones.
struct Tile {
  float d[kColumns / 2];

  __device__ void multiply(const std::uint32_t (&a)[4], const __half* b) {
#if __CUDA_ARCH_FEAT_SM90_ALL
    const unsigned address = unsigned(__cvta_generic_to_shared(b));
    const std::uint64_t columns = std::uint64_t{(address & 0x3ffffU) >> 4} | std::uint64_t{128 >> 4} << 16 |
                                  std::uint64_t{256 >> 4} << 32;
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "
        "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "
        "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, "
        "%61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, "
        "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, "
        "%100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, "
        "%116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "{%128, %129, %130, %131}, %132, 1, 1, 1, 0;\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),
          "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
          "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
          "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]),
          "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]),
          "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]),
          "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]),
          "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]),
          "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]),
          "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]),
          "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
          "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]),
          "+f"(d[127])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(columns));
#else
    const auto* words = reinterpret_cast<const std::uint32_t*>(b);
#pragma unroll
    for (unsigned t = 0; t < kColumns / 8; ++t)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
          "{%0,%1,%2,%3};"
          : "+f"(d[4 * t]), "+f"(d[4 * t + 1]), "+f"(d[4 * t + 2]), "+f"(d[4 * t + 3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(words[threadIdx.x % 32]),
            "r"(words[threadIdx.x % 32 + 32]));
#endif
  }
};

__global__ void __launch_bounds__(kGroups * 128, 1) matrix_rate_kernel(float* sink) {
  begin_kernel();
  __shared__ __align__(128) __half columns[kSharedHalves];
  // Values like those of weights and inputs: zeros would draw less power and run faster.
  for (unsigned i = threadIdx.x; i < kSharedHalves; i += blockDim.x)
    columns[i] = __float2half(float((i * 2654435761U >> 20 & 1023U)) / 512.0F - 1.0F);
  __syncthreads();
#if __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  std::uint32_t a[4];
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const __half2 pair = __floats2half2_rn(float((threadIdx.x * 7 + i * 5) % 31) / 16.0F - 1.0F,
                                           float((threadIdx.x * 3 + i * 11) % 29) / 16.0F - 0.9F);
    a[i] = *reinterpret_cast<const std::uint32_t*>(&pair);
  }
  Tile tile = {};
  for (unsigned step = 0; step < kSteps; step += 4) {
#if __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) tile.multiply(a, columns);
#if __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
  }
  float sum = 0;
#pragma unroll
  for (float value : tile.d) sum += value;
  if (sum == 0x1.234p77F) *sink = sum;  // never: keeps the products
}

}  // namespace

void copy_bytes_cuda(CudaQueue& queue, void* to, const void* from, std::size_t bytes) {
  queue.launch(copy_bytes_kernel, {std::uint32_t(queue.multiprocessors() * 4)}, {kCopyThreads},
               static_cast<uint4*>(to), static_cast<const uint4*>(from), bytes / sizeof(uint4));
}

double matrix_rate_cuda(CudaQueue& queue, float* sink) {
  const auto blocks = std::uint32_t(queue.multiprocessors());
  queue.launch(matrix_rate_kernel, {blocks}, {kGroups * 128}, sink);
  return 2.0 * 64 * kColumns * 16 * kSteps * kGroups * blocks;
}

}  // namespace lanner::kernels
