// SPDX-License-Identifier: MIT
#include <cstring>
#include <string_view>

#include "device/cuda_device.h"
#include "device/cuda_error.h"

namespace lanner::device {

void CommandList::add(const kernels::Launch& launch) {
  constexpr std::size_t kAlignment = 16;
  commands_.push_back({launch.kernel, launch.grid, launch.block, offsets_.size(), launch.count});
  for (std::size_t i = 0; i < launch.count; ++i) {
    const std::size_t at = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(at + launch.sizes[i]);
    std::memcpy(bytes_.data() + at, launch.arguments[i], launch.sizes[i]);
    offsets_.push_back(at);
  }
}

void CommandList::clear() {
  commands_.clear();
  offsets_.clear();
  bytes_.clear();
}

std::size_t CommandList::hash() const {
  std::size_t seed =
      std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
  for (const Command& c : commands_)
    for (const std::size_t value : {reinterpret_cast<std::size_t>(c.kernel), std::size_t{c.grid.x},
                                    std::size_t{c.grid.y}, std::size_t{c.grid.z}})
      seed = (seed ^ value) * 0x9e3779b97f4a7c15U + (seed >> 31);
  return seed;
}

bool CommandList::operator==(const CommandList& other) const {
  if (commands_.size() != other.commands_.size() || bytes_ != other.bytes_ || offsets_ != other.offsets_)
    return false;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const Command& a = commands_[i];
    const Command& b = other.commands_[i];
    if (a.kernel != b.kernel || a.grid.x != b.grid.x || a.grid.y != b.grid.y || a.grid.z != b.grid.z ||
        a.block.threads != b.block.threads || a.block.shared_bytes != b.block.shared_bytes)
      return false;
  }
  return true;
}

void CommandList::start(cudaStream_t stream) const {
  std::vector<void*> arguments;
  // Every kernel waits for the one before it (begin_kernel()) before it reads what kernels write, so its
  // set-up may overlap that one's end.
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  for (const Command& command : commands_) {
    arguments.clear();
    for (std::size_t i = 0; i < command.count; ++i)
      arguments.push_back(const_cast<std::byte*>(bytes_.data() + offsets_[command.first + i]));
    cudaLaunchConfig_t config = {};
    config.gridDim = {command.grid.x, command.grid.y, command.grid.z};
    config.blockDim = {command.block.threads, 1, 1};
    config.dynamicSmemBytes = command.block.shared_bytes;
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = 1;
    check_cuda(cudaLaunchKernelExC(&config, command.kernel, arguments.data()), "starting a kernel");
  }
}

}  // namespace lanner::device
