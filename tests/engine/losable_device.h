// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "core/cpu_features.h"
#include "core/error.h"
#include "device/ops.h"

namespace lanner::test {

/// A device that is lost on demand: the CPU's operations, of which products fail until it is opened anew.
class LosableDevice {
 public:
  /// For LoadOptions::open_device.
  static device::Ops open() {
    if (refusals_ > 0) {
      --refusals_;
      throw Error(ErrorKind::kInternal, "the device does not answer");
    }
    lost_ = false;
    ++openings_;
    device::Ops ops = device::cpu_ops(detect_isa());
    product_ = ops.linear;
    ops.linear = linear;
    ops.is_lost = [](const device::Ops&) { return lost_.load(); };
    return ops;
  }
  /// From now on products fail; of the attempts to open it anew, `refusals` fail, too.
  static void lose(int refusals) {
    refusals_ = refusals;
    lost_ = true;
  }
  static int openings() { return openings_; }

 private:
  static void linear(device::Stream& stream, std::span<const device::LinearCall> calls,
                     const device::ProductInput& in) {
    if (lost_) throw Error(ErrorKind::kInternal, "the device fell off the bus");
    product_(stream, calls, in);
  }

  static inline std::atomic<bool> lost_ = false;
  static inline std::atomic<int> refusals_ = 0;
  static inline std::atomic<int> openings_ = 0;
  static inline std::atomic<decltype(device::Ops::linear)> product_ = nullptr;
};

}  // namespace lanner::test
