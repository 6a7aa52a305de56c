// SPDX-License-Identifier: MIT
#include "engine/predicted_speed.h"

#include <cmath>

#include "engine/forward_work.h"

namespace lanner::engine {
namespace {

// Shares of the limits that steps reach: docs/performance.md.
constexpr double kReadShare = 0.80;
constexpr double kReadShareOfExperts = 0.74;  // short reads
constexpr double kReadShareOfStates = 0.15;   // the delta rule computes more than it reads
constexpr double kProductShare = 0.49;

double element_bytes(device::KvType type) {
  const device::KvLayout group{type, device::kKvGroup};
  return static_cast<double>(group.head_bytes()) / (device::kKvBlock * device::kKvGroup);
}

}  // namespace

PredictedSpeed predict_speed(const models::Model& model, const cache::CacheSpec& spec,
                             const device::Roofline& limits, const SpeedQuestion& question) {
  const double reads =
      limits.read_bytes_per_second * (model.facts().experts > 0 ? kReadShareOfExperts : kReadShare);
  const double products =
      kProductShare *
      (question.compute == device::Compute::kInt8 ? limits.int8_ops_per_second : limits.float_ops_per_second);
  const auto seconds = [&](ForwardRows rows) {
    rows.kv_element = element_bytes(spec.kv_type);
    const ForwardWork work = forward_work(model, rows);
    const double reading = (work.read_bytes - work.state_bytes) / reads +
                           work.state_bytes / (kReadShareOfStates * limits.read_bytes_per_second);
    // Neither hides behind the other in full.
    return std::hypot(reading, work.product_ops / products);
  };
  const auto users = static_cast<double>(question.users);
  return {.decode = users / seconds({.rows = question.users,
                                     .wanted = question.users,
                                     .sequences = question.users,
                                     .depth = question.tokens}),
          .prompt = static_cast<double>(question.chunk) / seconds({.rows = question.chunk, .wanted = 1})};
}

}  // namespace lanner::engine
