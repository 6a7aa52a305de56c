// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lanner::kernels {

/// Blocks of a launch.
struct Grid {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

/// Threads and dynamic shared memory of each block.
struct Block {
  std::uint32_t threads = 0;
  std::size_t shared_bytes = 0;
};

/// One kernel with its arguments; the pointers are valid during the call that takes them only.
struct Launch {
  const void* kernel = nullptr;
  Grid grid;
  Block block;
  const void* const* arguments = nullptr;
  const std::size_t* sizes = nullptr;
  std::size_t count = 0;
};

/// Memory through which blocks of one kernel pass values on, kExchangeValues to a block and one flag.
struct BlockExchange {
  float* values = nullptr;
  std::uint32_t* flags = nullptr;  ///< zero between kernels
};
inline constexpr std::size_t kExchangeValues = std::size_t{64} * 128;

inline constexpr std::size_t kArrivalCounters = 4096;

/// Where launchers put kernels. They run in the order they were added; whether at once or later, alone or as
/// part of a graph, is the queue's business. Launchers never allocate device memory nor wait.
class CudaQueue {
 public:
  virtual ~CudaQueue() = default;
  virtual void add(const Launch& launch) = 0;
  /// Host values that kernels of this step read: copied now, at the returned device address when they run.
  /// Aligned to 16 bytes, valid until the step's commands have run.
  virtual const void* stage(const void* values, std::size_t size_bytes) = 0;
  virtual int multiprocessors() const = 0;
  /// True when kernels built for cards with warpgroup matrix instructions run (compute capability 9.0).
  virtual bool warpgroups() const = 0;
  /// For two blocks on each multiprocessor; of cards with warpgroups only.
  virtual BlockExchange exchange() const = 0;
  /// kArrivalCounters counters for blocks of one kernel, zero between kernels.
  virtual std::uint32_t* arrivals() const = 0;

  /// kernel<<<grid, block>>>(arguments...)
  template <typename... Parameters, typename... Arguments>
  void launch(void (*kernel)(Parameters...), const Grid& grid, const Block& block,
              const Arguments&... arguments) {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
    pass<Parameters...>(reinterpret_cast<const void*>(kernel), grid, block,
                        static_cast<Parameters>(arguments)...);
  }

 private:
  template <typename... Parameters>
  void pass(const void* kernel, const Grid& grid, const Block& block,
            const std::type_identity_t<Parameters>&... values) {
    const std::array<const void*, sizeof...(Parameters)> pointers = {&values...};
    const std::array<std::size_t, sizeof...(Parameters)> sizes = {sizeof(Parameters)...};
    add({kernel, grid, block, pointers.data(), sizes.data(), pointers.size()});
  }
};

/// ceil(a / b) as a grid extent.
constexpr std::uint32_t blocks_for(std::size_t a, std::size_t b) {
  return static_cast<std::uint32_t>((a + b - 1) / b);
}

}  // namespace lanner::kernels
