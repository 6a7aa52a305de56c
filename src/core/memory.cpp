// SPDX-License-Identifier: MIT
#include "core/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

#include "core/buffer.h"
#include "core/error.h"
#include "core/huge_heap.h"
#include "core/sanitizers.h"

namespace lanner {
namespace {

constexpr std::size_t kHugePage = HugeHeap::kHugePage;

// Blocks from here to a huge page share huge pages: on small ones the look-up of addresses in eight
// sequences' recurrent states costs a tenth of the speed. The smallest that are read whole for every token
// are keys and values of 64 positions of one head of 256 in 16 bits. A sanitizer knows the edges and the life
// of blocks that have their own memory.
constexpr std::size_t kSmallestShared = kSanitizedMemory ? kHugePage : std::size_t{64} << 10;

bool shares_pages(std::size_t size_bytes) { return size_bytes >= kSmallestShared && size_bytes < kHugePage; }

std::align_val_t alignment(std::size_t size_bytes) {
  return std::align_val_t{size_bytes >= kHugePage ? kHugePage : Buffer::kAlignment};
}

class HostMemory final : public Memory {
 public:
  DeviceKind kind() const override { return DeviceKind::kCpu; }
  std::byte* allocate(std::size_t size_bytes) override {
    void* const data = shares_pages(size_bytes)
                           ? heap_.allocate(size_bytes)
                           : ::operator new(size_bytes, alignment(size_bytes), std::nothrow);
    if (data == nullptr)
      throw Error(ErrorKind::kOutOfMemory, fmt::format("no memory for a block of {} bytes", size_bytes));
    // Weights are streamed once a token: on small pages the look-up of addresses costs a tenth of the speed.
    if (size_bytes >= kHugePage) ::madvise(data, size_bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
    return static_cast<std::byte*>(data);
  }
  void release(std::byte* data, std::size_t size_bytes) noexcept override {
    if (shares_pages(size_bytes)) return heap_.release(data, size_bytes);
    ::operator delete(data, alignment(size_bytes));
  }
  void zero(std::byte* data, std::size_t size_bytes) override { std::memset(data, 0, size_bytes); }
  void copy(std::byte* to, const std::byte* from, std::size_t size_bytes) override {
    std::memmove(to, from, size_bytes);
  }
  void upload(std::byte* to, const void* from, std::size_t size_bytes) override {
    std::memcpy(to, from, size_bytes);
  }
  void download(void* to, const std::byte* from, std::size_t size_bytes) override {
    std::memcpy(to, from, size_bytes);
  }

 private:
  HugeHeap heap_;
};

}  // namespace

Memory& host_memory() {
  // Never destroyed: buffers that statics own go after it.
  alignas(HostMemory) static std::byte storage[sizeof(HostMemory)];
  static Memory* const memory = new (storage) HostMemory;  // NOLINT(*-avoid-non-const-global-variables)
  return *memory;
}

}  // namespace lanner
