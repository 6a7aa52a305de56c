// SPDX-License-Identifier: MIT
#include "device/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "device/cuda_error.h"
#include "device/tiled_matrix.h"

namespace lanner::device {
namespace {

constexpr std::size_t kStageBytes = std::size_t{32} << 20;
// Shorter lists gain nothing from a graph.
constexpr std::size_t kGraphCommands = 16;
constexpr std::size_t kMostGraphs = 1024;
// Parts that are started while the host collects the next one: the first short, since the card waits for it,
// the others long enough to outlast that.
constexpr std::size_t kFirstPartCommands = 16;
constexpr std::size_t kPartCommands = 64;
// Dynamic shared memory that any kernel gets unasked, beside its own.
constexpr std::size_t kPlainSharedBytes = std::size_t{16} << 10;

}  // namespace

CudaDevice::CudaDevice(int index) : index_(index), memory_(*this), part_commands_(kFirstPartCommands) {
  cudaDeviceProp properties = {};
  check_cuda(cudaGetDeviceProperties(&properties, index), "reading the properties of the card");
  if (properties.major < 8)
    throw Error(ErrorKind::kUnsupported,
                fmt::format("cuda:{} is a {} of compute capability {}.{}; lanner needs 8.0 or newer", index,
                            properties.name, properties.major, properties.minor));
  multiprocessors_ = properties.multiProcessorCount;
  warpgroups_ = properties.major == 9 && LANNER_CUDA_WARPGROUPS != 0;
  make_current();
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "opening the card");
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, 2 * kStageBytes), "opening the card");
  device_stage_ = static_cast<std::byte*>(memory);
  constexpr std::size_t kArrivalBytes = kernels::kArrivalCounters * sizeof(std::uint32_t);
  check_cuda(cudaMalloc(&memory, kArrivalBytes), "opening the card");
  check_cuda(cudaMemsetAsync(memory, 0, kArrivalBytes, stream_), "opening the card");
  arrivals_ = static_cast<std::uint32_t*>(memory);
  if (warpgroups_) {
    const std::size_t blocks = 2 * static_cast<std::size_t>(multiprocessors_);
    const std::size_t value_bytes = blocks * kernels::kExchangeValues * sizeof(float);
    const std::size_t bytes = value_bytes + blocks * sizeof(std::uint32_t);
    check_cuda(cudaMalloc(&memory, bytes), "opening the card");
    check_cuda(cudaMemsetAsync(memory, 0, bytes, stream_), "opening the card");
    exchange_ = {static_cast<float*>(memory),
                 reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(memory) + value_bytes)};
  }
  for (int i = 0; i < 2; ++i) {
    check_cuda(cudaMallocHost(&memory, kStageBytes), "pinning memory");
    host_stages_[i] = static_cast<std::byte*>(memory);
    check_cuda(cudaEventCreateWithFlags(&stage_done_[i], cudaEventDisableTiming), "opening the card");
  }
}

// The driver frees what a process held; at exit it may already be gone.
CudaDevice::~CudaDevice() = default;

void CudaDevice::make_current() { check_cuda(cudaSetDevice(index_), "choosing the card"); }

void CudaDevice::add(const kernels::Launch& launch) {
  if (launch.block.shared_bytes > kPlainSharedBytes) {
    std::size_t& limit = shared_limits_[launch.kernel];
    if (limit < launch.block.shared_bytes) {
      make_current();
      check_cuda(cudaFuncSetAttribute(launch.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(launch.block.shared_bytes)),
                 "asking for shared memory");
      limit = launch.block.shared_bytes;
    }
  }
  commands_.add(launch);
  if (commands_.size() < part_commands_) return;
  part_commands_ = std::min(2 * part_commands_, kPartCommands);
  make_current();
  copy_staged();
  start_commands();
}

void CudaDevice::copy_staged() {
  if (copied_bytes_ == staged_bytes_) return;
  check_cuda(cudaMemcpyAsync(device_stage_ + static_cast<std::size_t>(half_) * kStageBytes + copied_bytes_,
                             host_stages_[stage_] + copied_bytes_, staged_bytes_ - copied_bytes_,
                             cudaMemcpyHostToDevice, stream_),
             "passing values");
  copied_bytes_ = staged_bytes_;
}

const void* CudaDevice::stage(const void* values, std::size_t size_bytes) {
  constexpr std::size_t kAlignment = 16;
  const std::size_t bytes = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes > kStageBytes) throw Error(ErrorKind::kInternal, "a step passes too many values to the GPU");
  if (staged_bytes_ + bytes > kStageBytes) {
    // Kernels yet to be added may read what was staged just now: it stays in its half.
    const int other = 1 - half_;
    flush();
    half_ = other;
  }
  if (staged_bytes_ == 0) check_cuda(cudaEventSynchronize(stage_done_[stage_]), "waiting for the GPU");
  std::memcpy(host_stages_[stage_] + staged_bytes_, values, size_bytes);
  const std::byte* at = device_stage_ + static_cast<std::size_t>(half_) * kStageBytes + staged_bytes_;
  staged_bytes_ += bytes;
  return at;
}

void CudaDevice::forget_graphs() {
  for (auto& [hash, step] : graphs_)
    if (step.graph != nullptr) cudaGraphExecDestroy(step.graph);
  graphs_.clear();
}

void CudaDevice::start_commands() {
  if (commands_.empty()) return;
  struct Clear {
    CommandList& commands;
    ~Clear() { commands.clear(); }
  } const clear{commands_};
  if (commands_.size() < kGraphCommands) return commands_.start(stream_);
  if (graphs_.size() > kMostGraphs) {
    check_cuda(cudaStreamSynchronize(stream_), "waiting for the GPU");
    forget_graphs();
  }
  StepGraph& step = graphs_[commands_.hash()];
  if (step.commands.empty() || !(step.commands == commands_)) {
    if (step.graph != nullptr) cudaGraphExecDestroy(std::exchange(step.graph, nullptr));
    step.commands = commands_;
    return commands_.start(stream_);
  }
  if (step.graph == nullptr) {
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "recording a step");
    commands_.start(stream_);
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamEndCapture(stream_, &graph), "recording a step");
    check_cuda(cudaGraphInstantiate(&step.graph, graph, 0), "recording a step");
    cudaGraphDestroy(graph);
  }
  check_cuda(cudaGraphLaunch(step.graph, stream_), "starting a step");
}

void CudaDevice::flush() {
  make_current();
  if (staged_bytes_ > 0) {
    copy_staged();
    check_cuda(cudaEventRecord(stage_done_[stage_], stream_), "passing values");
    stage_ = 1 - stage_;
    staged_bytes_ = copied_bytes_ = 0;
  }
  half_ = 0;
  start_commands();
  part_commands_ = kFirstPartCommands;
}

void CudaDevice::synchronize() {
  flush();
  check_cuda(cudaStreamSynchronize(stream_), "running a step");
}

std::byte* CudaDevice::scratch(std::size_t size_bytes) {
  if (scratch_.size_bytes() < size_bytes) {
    // Kernels that were collected use the old memory: it is released for reuse, never unmapped under them.
    scratch_ = Buffer(size_bytes + size_bytes / 4, memory_);
  }
  return scratch_.data();
}

std::byte* CudaDevice::host_buffer(std::size_t size_bytes) {
  if (host_buffer_bytes_ < size_bytes) {
    synchronize();
    cudaFreeHost(host_buffer_);
    void* memory = nullptr;
    check_cuda(cudaMallocHost(&memory, size_bytes), "pinning memory");
    host_buffer_ = static_cast<std::byte*>(memory);
    host_buffer_bytes_ = size_bytes;
  }
  return host_buffer_;
}

const kernels::TiledWeight* CudaDevice::expert_table(std::span<const Matrix> experts) {
  Table& table = expert_tables_[experts.data()];
  const void* first_codes = experts.front().tiled()->view().codes;
  if (table.first_codes != first_codes || table.count != experts.size()) {
    std::vector<kernels::TiledWeight> views;
    for (const Matrix& expert : experts) views.push_back(expert.tiled()->view());
    table.memory = Buffer(views.size() * sizeof(views[0]), memory_);
    memory_.upload(table.memory.data(), views.data(), views.size() * sizeof(views[0]));
    table.first_codes = first_codes;
    table.count = experts.size();
  }
  return table.memory.as<const kernels::TiledWeight>();
}

}  // namespace lanner::device
