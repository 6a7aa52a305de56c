// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace lanner {

/// Places for blocks that are smaller than a huge page, side by side on huge pages: on small ones, reading a
/// block to its end costs look-ups of addresses. The lowest free place is taken first. Pages on which nothing
/// is left go back to the machine once `kept_bytes` are free: the next to need them waits for them. Addresses
/// stay taken until the process ends. Safe to use from many threads.
class HugeHeap {
 public:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  /// Places are multiples of it.
  static constexpr std::size_t kGrain = std::size_t{4} << 10;

  explicit HugeHeap(std::size_t kept_bytes = std::size_t{256} << 20) : kept_bytes_(kept_bytes) {}

  /// Aligned to kGrain; nullptr when the machine has no memory left.
  std::byte* allocate(std::size_t size_bytes);
  void release(std::byte* data, std::size_t size_bytes) noexcept;

 private:
  using Ranges = std::map<std::byte*, std::size_t>;

  bool grow(std::size_t size_bytes);
  Ranges::iterator join(Ranges::iterator place);

  const std::size_t kept_bytes_;
  std::mutex mutex_;
  std::size_t idle_bytes_ = 0;  ///< of places used before, at least
  Ranges free_;                 ///< never two that touch
  Ranges taken_;                ///< their nodes become free_'s, so that giving back allocates nothing
};

}  // namespace lanner
