// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "core/arena.h"
#include "device/cuda.h"
#include "random.h"

namespace lanner::test {

/// What a case goes through: all of it, or under a tool that makes kernels a thousand times as slow
/// (tools/sanitize_cuda sets LANNER_FEW_SIZES) those few that still reach every kernel.
template <typename T>
std::vector<T> sizes(std::initializer_list<T> all, std::initializer_list<T> few) {
  return std::getenv("LANNER_FEW_SIZES") == nullptr ? all : few;
}

/// The scalar reference and a GPU side by side: the same values in both memories.
class DevicePair {
 public:
  DevicePair()
      : reference_(device::cpu_ops(Isa::kReference)),
        ops_(device::cuda_ops(0)),
        reference_stream_(reference_, 1),
        stream_(ops_, 1),
        host_(),
        arena_(*ops_.memory) {}

  struct Twin {
    Tensor host;
    Tensor cuda;
  };

  const device::Ops& reference() const { return reference_; }
  const device::Ops& cuda() const { return ops_; }
  device::Stream& reference_stream() { return reference_stream_; }
  device::Stream& stream() { return stream_; }
  Arena& host_arena() { return host_; }
  Arena& arena() { return arena_; }

  Twin twin(const Shape& shape, std::uint64_t seed) {
    const Twin twin{host_.floats(shape), arena_.floats(shape)};
    const auto values = random_normal(static_cast<std::size_t>(shape.element_count()), seed);
    std::ranges::copy(values, twin.host.floats().begin());
    upload(twin);
    return twin;
  }
  /// Poisoned, so that an element nobody writes shows.
  Twin empty(const Shape& shape) {
    const Twin twin{host_.floats(shape), arena_.floats(shape)};
    std::ranges::fill(twin.host.floats(), std::nanf(""));
    upload(twin);
    return twin;
  }
  void upload(const Twin& twin) {
    ops_.memory->upload(static_cast<std::byte*>(twin.cuda.data), twin.host.data, twin.host.size_bytes());
  }
  std::vector<float> result(const Tensor& x) {
    const auto values = ops_.host_floats(stream_, x);
    return {values.begin(), values.end()};
  }
  /// Largest |got - want| over the root mean square of want; infinite for anything that is not a number.
  double error(const Twin& twin) {
    const auto got = result(twin.cuda);
    const auto want = twin.host.floats();
    double norm = 0;
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      norm += double(want[i]) * double(want[i]);
      const double difference = std::abs(double(got[i]) - double(want[i]));
      if (!(difference <= worst)) worst = std::isnan(difference) ? HUGE_VAL : difference;
    }
    return worst / std::sqrt(norm / double(got.size()) + 1e-30);
  }

 private:
  device::Ops reference_;
  device::Ops ops_;
  device::Stream reference_stream_;
  device::Stream stream_;
  Arena host_;
  Arena arena_;
};

}  // namespace lanner::test
