// SPDX-License-Identifier: MIT
#include "core/huge_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace lanner {
namespace {

// Addresses taken from the machine at once; memory comes with the first touch.
constexpr std::size_t kRegion = std::size_t{256} << 20;

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

/// Gives back the huge pages that [data, data + size_bytes) touches and the free range [free, free_end)
/// covers.
void give_back(std::byte* data, std::size_t size_bytes, std::byte* free, std::byte* free_end) {
  const auto address = [](std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const std::uintptr_t down = ~(std::uintptr_t{HugeHeap::kHugePage} - 1);
  const std::uintptr_t begin = std::max(address(data) & down, round_up(address(free), HugeHeap::kHugePage));
  const std::uintptr_t end =
      std::min(round_up(address(data + size_bytes), HugeHeap::kHugePage), address(free_end) & down);
  if (begin < end) ::madvise(data + (begin - address(data)), end - begin, MADV_DONTNEED);
}

}  // namespace

std::byte* HugeHeap::allocate(std::size_t size_bytes) {
  const std::size_t size = round_up(size_bytes, kGrain);
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const auto& range) { return range.second >= size; };
  auto found = std::ranges::find_if(free_, fits);
  if (found == free_.end() && (grow(std::max(size, kRegion)) || grow(size)))
    found = std::ranges::find_if(free_, fits);
  if (found == free_.end()) return nullptr;
  const auto [data, available] = *found;
  if (available > size) free_.emplace_hint(std::next(found), data + size, available - size);
  found->second = size;
  taken_.insert(free_.extract(found));
  idle_bytes_ -= std::min(idle_bytes_, size);
  return data;
}

void HugeHeap::release(std::byte* data, std::size_t size_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t size = round_up(size_bytes, kGrain);
  const auto free = join(free_.insert(taken_.extract(data)).position);
  if (idle_bytes_ + size <= kept_bytes_)
    idle_bytes_ += size;
  else
    give_back(data, size, free->first, free->first + free->second);
}

/// Takes a region that holds `size_bytes`.
bool HugeHeap::grow(std::size_t size_bytes) {
  const std::size_t size = round_up(size_bytes, kHugePage) + kHugePage;
  void* const taken =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken == MAP_FAILED) return false;
  ::madvise(taken, size, MADV_HUGEPAGE);
  const auto begin = reinterpret_cast<std::uintptr_t>(taken);
  std::byte* const first = static_cast<std::byte*>(taken) + (round_up(begin, kHugePage) - begin);
  join(free_.emplace(first, size - kHugePage).first);
  return true;
}

/// Makes a free range one with those that it touches.
HugeHeap::Ranges::iterator HugeHeap::join(Ranges::iterator place) {
  const auto joined = [&](auto left, auto right) {
    if (left->first + left->second != right->first) return left == place ? left : right;
    left->second += right->second;
    free_.erase(right);
    return left;
  };
  if (const auto next = std::next(place); next != free_.end()) place = joined(place, next);
  if (place != free_.begin()) place = joined(std::prev(place), place);
  return place;
}

}  // namespace lanner
