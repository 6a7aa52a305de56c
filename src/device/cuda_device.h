// SPDX-License-Identifier: MIT
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/cuda_memory.h"
#include "device/matrix.h"
#include "kernels/cuda/queue.h"
#include "kernels/linear/linear.cuda.h"

namespace lanner::device {

/// Kernels with their arguments, in order; equal lists are equal byte for byte.
class CommandList {
 public:
  struct Command {
    const void* kernel = nullptr;
    kernels::Grid grid;
    kernels::Block block;
    std::size_t first = 0;  ///< of its arguments in offsets
    std::size_t count = 0;
  };

  void add(const kernels::Launch& launch);
  void clear();
  bool empty() const { return commands_.empty(); }
  std::size_t size() const { return commands_.size(); }
  std::size_t hash() const;
  bool operator==(const CommandList& other) const;
  /// Starts every kernel on a stream.
  void start(cudaStream_t stream) const;

 private:
  std::vector<Command> commands_;
  std::vector<std::size_t> offsets_;
  std::vector<std::byte> bytes_;
};

/// One GPU: its stream, its memory, and the kernels of the current step. Kernels are collected and started by
/// flush(); a list that comes back with the same kernels and arguments (a decode step of as many rows) runs
/// as one CUDA graph. What changes from step to step goes through stage(). Used from one thread at a time.
class CudaDevice final : public kernels::CudaQueue {
 public:
  /// Throws Error kUnsupported for an unusable card.
  explicit CudaDevice(int index);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  void add(const kernels::Launch& launch) override;
  const void* stage(const void* values, std::size_t size_bytes) override;
  int multiprocessors() const override { return multiprocessors_; }
  bool warpgroups() const override { return warpgroups_; }
  kernels::BlockExchange exchange() const override { return exchange_; }
  std::uint32_t* arrivals() const override { return arrivals_; }

  template <typename T>
  const T* stage(std::span<const T> values) {
    return static_cast<const T*>(stage(values.data(), values.size_bytes()));
  }

  /// Starts everything collected so far. Long lists start in parts while the rest is still collected.
  void flush();
  /// flush(), then waits for the GPU.
  void synchronize();
  void make_current();
  int index() const { return index_; }
  cudaStream_t stream() const { return stream_; }
  CudaMemory& memory() { return memory_; }
  /// Memory of one operation, which the next may overwrite.
  std::byte* scratch(std::size_t size_bytes);
  /// Pinned host memory of at least this size; contents stay until the next call.
  std::byte* host_buffer(std::size_t size_bytes);
  /// Descriptions of the experts' weights in device memory, made at their first use.
  const kernels::TiledWeight* expert_table(std::span<const Matrix> experts);
  /// New weights may take the places of old ones: their descriptions are made anew.
  void forget_expert_tables() { expert_tables_.clear(); }

 private:
  struct StepGraph {
    CommandList commands;
    cudaGraphExec_t graph = nullptr;
  };
  struct Table {
    const void* first_codes = nullptr;
    std::size_t count = 0;
    Buffer memory;
  };

  void start_commands();
  void copy_staged();
  void forget_graphs();

  int index_;
  int multiprocessors_ = 0;
  bool warpgroups_ = false;
  kernels::BlockExchange exchange_;
  std::uint32_t* arrivals_ = nullptr;
  cudaStream_t stream_ = nullptr;
  CudaMemory memory_;
  CommandList commands_;
  std::size_t part_commands_;  ///< as many are started before the step is collected in full
  std::unordered_map<std::size_t, StepGraph> graphs_;
  std::unordered_map<const void*, std::size_t> shared_limits_;
  std::byte* device_stage_ = nullptr;
  std::byte* host_stages_[2] = {};
  cudaEvent_t stage_done_[2] = {};
  int stage_ = 0;  ///< host buffer in use
  int half_ = 0;   ///< half of the device's buffer in use
  std::size_t staged_bytes_ = 0;
  std::size_t copied_bytes_ = 0;  ///< of the staged ones, on their way to the device
  Buffer scratch_;
  std::byte* host_buffer_ = nullptr;
  std::size_t host_buffer_bytes_ = 0;
  std::map<const Matrix*, Table> expert_tables_;
};

}  // namespace lanner::device
