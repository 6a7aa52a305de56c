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

constexpr FusedOps kFused = {.linear = cuda::linear_added,
                             .gated_linear = cuda::gated_linear_of,
                             .add_norm = cuda::add_norm,
                             .attention_heads = cuda::attention_heads,
                             .can_mix = cuda::can_mix,
                             .delta_mix = cuda::delta_mix};

struct OpenCard {
  std::string name;
  std::unique_ptr<CudaDevice> device;
};

/// Opens a card once; weights and caches of any model may live on it until the program ends.
OpenCard& open_card(int index) {
  static std::mutex mutex;
  static auto* cards = new std::map<int, OpenCard>();
  const std::lock_guard lock(mutex);
  OpenCard& card = (*cards)[index];
  if (!card.device) {
    card.device = std::make_unique<CudaDevice>(index);
    card.name = fmt::format("cuda:{}", index);
  }
  return card;
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

Ops cuda_ops(int index) {
  check_driver(index);
  OpenCard& card = open_card(index);
  return {
      .device = card.name,
      .isa = Isa::kReference,
      .memory = &card.device->memory(),
      .cuda = card.device.get(),
      .fused = &kFused,
      .embed = cuda::embed,
      .rms_norm = cuda::rms_norm,
      .l2_norm = cuda::l2_norm,
      .gated_rms_norm = cuda::gated_rms_norm,
      .rope_tables = cuda::rope_tables,
      .rope = cuda::rope,
      .add = cuda::add,
      .scale = cuda::scale,
      .gated_activation = cuda::gated_activation,
      .sigmoid_mul = cuda::sigmoid_mul,
      .gate_rows = cuda::gate_rows,
      .softcap = cuda::softcap,
      .copy = cuda::copy,
      .take_rows = cuda::take_rows,
      .split_pairs = cuda::split_pairs,
      .swap_axes = cuda::swap_axes,
      .push_history = cuda::push_history,
      .host_floats = cuda::host_floats,
      .argmax = cuda::argmax,
      .sample = cuda::sample,
      .tile = cuda::tile,
      .linear = cuda::linear,
      .gated_linear = cuda::gated_linear,
      .write_kv = cuda::write_kv,
      .attention = cuda::attention,
      .causal_conv = cuda::causal_conv,
      .delta_net_gates = cuda::delta_net_gates,
      .delta_net = cuda::delta_net,
      .delta_fold = cuda::delta_fold,
      .route = cuda::route,
      .experts = cuda::experts,
  };
}

}  // namespace lanner::device
