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
constexpr double kProductShare = 0.49;        // of int8 products with 4 bits in groups of 64
constexpr double kFloatShare = 0.37;
constexpr double kBf16Share = 1.18;  // of float products, which take two instructions for each of these

/// The speed of int8 products with weights in this storage, in that of 4 bits in groups of 64. The table of
/// whole models in docs/performance.md.
double int8_speed(const device::WeightSpec& spec, Isa isa) {
  const bool narrow = isa == Isa::kAvx2;
  switch (spec.format) {
    case device::WeightFormat::kMxfp4:
      return narrow ? 0.83 : 0.94;
    case device::WeightFormat::kNvfp4:
      return narrow ? 0.72 : 0.82;
    default:
      break;
  }
  if (!narrow || spec.bits < 5) return 1;
  return spec.bits == 5 ? 0.93 : spec.bits == 6 ? 0.82 : 0.48;
}

/// Operations a second of products with weights in this storage.
double product_speed(const device::WeightSpec& spec, const device::Roofline& limits,
                     const SpeedQuestion& question) {
  switch (device::product_arithmetic(spec, question.compute, question.isa)) {
    case device::ProductArithmetic::kInt8:
      return kProductShare * int8_speed(spec, question.isa) * limits.int8_ops_per_second;
    case device::ProductArithmetic::kBf16:
      return kBf16Share * limits.float_ops_per_second;
    case device::ProductArithmetic::kFloat:
      break;
  }
  return kFloatShare * limits.float_ops_per_second;
}

double element_bytes(device::KvType type) {
  const device::KvLayout group{type, device::kKvGroup};
  return static_cast<double>(group.head_bytes()) / (device::kKvBlock * device::kKvGroup);
}

}  // namespace

PredictedSpeed predict_speed(const models::Model& model, const cache::CacheSpec& spec,
                             const device::Roofline& limits, const SpeedQuestion& question) {
  const double reads =
      limits.read_bytes_per_second * (model.facts().experts > 0 ? kReadShareOfExperts : kReadShare);
  const auto seconds = [&](ForwardRows rows) {
    rows.kv_element = element_bytes(spec.kv_type);
    const ForwardWork work = forward_work(model, rows);
    const double reading = (work.read_bytes - work.state_bytes) / reads +
                           work.state_bytes / (kReadShareOfStates * limits.read_bytes_per_second);
    double multiplying = 0;
    for (const StorageWork& storage : work.storages)
      multiplying += storage.product_ops / product_speed(storage.spec, limits, question);
    // Neither hides behind the other in full.
    return std::hypot(reading, multiplying);
  };
  const auto users = static_cast<double>(question.users);
  return {.decode = users / seconds({.rows = question.users,
                                     .wanted = question.users,
                                     .sequences = question.users,
                                     .depth = question.tokens}),
          .prompt = static_cast<double>(question.chunk) / seconds({.rows = question.chunk, .wanted = 1})};
}

}  // namespace lanner::engine
