// SPDX-License-Identifier: MIT
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <memory>
#include <mutex>

#include "core/error.h"
#include "device/cuda.h"
#include "device/cuda_device.h"
#include "device/cuda_error.h"
#include "device/cuda_op_functions.h"

namespace lanner::device {
namespace {

// Oldest driver that runs programs of this CUDA major version.
constexpr int kNeededDriver = CUDART_VERSION / 1000 * 1000;

struct OpenCard {
  std::string name;
  std::unique_ptr<CudaDevice> device;
};

struct OpenCards {
  std::mutex mutex;
  std::map<int, OpenCard> cards;
  /// Owners of memory that went with a lost card may still release it to them.
  std::vector<std::unique_ptr<CudaDevice>> lost;
};

OpenCards& open_cards() {
  static auto* all = new OpenCards();
  return *all;
}

/// True when the card works no more: an error that stays until the card is reset.
bool has_failed(int index) {
  const bool failed = cudaSetDevice(index) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
  cudaGetLastError();
  return failed;
}

/// Opens a card once; weights and caches of any model may live on it until the program ends or it is lost.
OpenCard& open_card(int index) {
  OpenCards& all = open_cards();
  const std::lock_guard lock(all.mutex);
  OpenCard& card = all.cards[index];
  if (card.device && has_failed(index)) {
    all.lost.push_back(std::move(card.device));
    cudaDeviceReset();
    cudaGetLastError();
  }
  if (!card.device) {
    card.device = std::make_unique<CudaDevice>(index);
    card.name = fmt::format("cuda:{}", index);
  }
  return card;
}

bool is_lost(const Ops& ops) {
  OpenCards& all = open_cards();
  const std::lock_guard lock(all.mutex);
  const auto found = all.cards.find(ops.cuda->index());
  return found == all.cards.end() || found->second.device.get() != ops.cuda || has_failed(ops.cuda->index());
}

void check_driver(int index) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    throw Error(ErrorKind::kUnsupported,
                "there is no NVIDIA driver on this machine; install one, or use --device cpu");
  if (driver < kNeededDriver)
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format(
            "the NVIDIA driver supports CUDA {}.{}, this lanner needs {}.0; install a newer driver, or "
            "use --device cpu",
            driver / 1000, driver % 1000 / 10, kNeededDriver / 1000));
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) cudaGetLastError();
  if (status != cudaSuccess || index < 0 || index >= count)
    throw Error(ErrorKind::kUnsupported, fmt::format("there is no cuda:{}; the NVIDIA driver shows {} cards",
                                                     index, status == cudaSuccess ? count : 0));
}

}  // namespace

bool built_with_cuda() { return true; }

std::vector<CudaCard> cuda_cards() {
  std::vector<CudaCard> cards;
  int driver = 0;
  int count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver < kNeededDriver) return cards;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return cards;
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties = {};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) continue;
    CudaCard card{.index = index,
                  .name = properties.name,
                  .compute_capability = properties.major * 10 + properties.minor,
                  .total_bytes = properties.totalGlobalMem};
    if (cudaSetDevice(index) == cudaSuccess) cudaMemGetInfo(&card.free_bytes, &card.total_bytes);
    cards.push_back(card);
  }
  return cards;
}

std::optional<DeviceMemory> device_memory(const Ops& ops) {
  if (ops.cuda == nullptr) return std::nullopt;
  DeviceMemory memory;
  if (cudaSetDevice(ops.cuda->index()) != cudaSuccess ||
      cudaMemGetInfo(&memory.free_bytes, &memory.total_bytes) != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  memory.free_bytes += ops.cuda->memory().spare_bytes();
  return memory;
}

Ops cuda_ops(int index) {
  check_driver(index);
  OpenCard& card = open_card(index);
  return {
      .device = card.name,
      .isa = Isa::kReference,
      .memory = &card.device->memory(),
      .cuda = card.device.get(),
      .delta_chunk = kMostDeltaChunk,
      .embed = cuda::embed,
      .rms_norm = cuda::rms_norm,
      .l2_norm = cuda::l2_norm,
      .gated_rms_norm = cuda::gated_rms_norm,
      .rope_tables = cuda::rope_tables,
      .add = cuda::add,
      .add_norm = cuda::add_norm,
      .add_norms = cuda::add_norms,
      .scale = cuda::scale,
      .gated_activation = cuda::gated_activation,
      .gate_rows = cuda::gate_rows,
      .softcap = cuda::softcap,
      .copy = cuda::copy,
      .take_rows = cuda::take_rows,
      .swap_axes = cuda::swap_axes,
      .push_history = cuda::push_history,
      .host_floats = cuda::host_floats,
      .is_lost = is_lost,
      .argmax = cuda::argmax,
      .sample = cuda::sample,
      .tile = cuda::tile,
      .linear = cuda::linear,
      .gated_linear = cuda::gated_linear,
      .can_feed_forward = cuda::can_feed_forward,
      .feed_forward = cuda::feed_forward,
      .attention_heads = cuda::attention_heads,
      .attend_heads = cuda::attend_heads,
      .write_kv = cuda::write_kv,
      .attention = cuda::attention,
      .causal_conv = cuda::causal_conv,
      .delta_net_gates = cuda::delta_net_gates,
      .delta_net = cuda::delta_net,
      .delta_fold = cuda::delta_fold,
      .can_mix = cuda::can_mix,
      .delta_mix = cuda::delta_mix,
      .route = cuda::route,
      .experts = cuda::experts,
      .routed_experts = cuda::routed_experts,
  };
}

}  // namespace lanner::device
