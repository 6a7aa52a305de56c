// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "core/arena.h"
#include "device/stream.h"
#include "engine/loaded_model.h"
#include "engine/step_work.h"

namespace lanner::engine {

/// Rows of logits formed at once: those of a whole prompt would be gigabytes for a vocabulary of 262144.
inline constexpr std::size_t kStepLogitRows = 64;

/// Runs forwards and lets the sequences decide their next tokens from the logits, or pool hidden states.
class StepRunner {
 public:
  struct Options {
    int threads = 1;
    std::size_t workspace_bytes = 0;  ///< scratch of the usual step, taken in one piece
    bool choose_on_device = true;     ///< see EngineOptions
    std::chrono::milliseconds mask_deadline{2};
  };

  StepRunner(const LoadedModel& model, const Options& options);

  /// One forward over all of `works`, then every sequence's decisions. Afterwards each cache holds exactly
  /// the rows whose tokens turned out to be the sequence's. What goes wrong with one sequence is noted in its
  /// work; throws Error for what goes wrong with all.
  void run(std::span<StepWork> works);
  /// Bytes that forwards have taken, beside caches.
  std::size_t workspace_bytes() const { return arena_.capacity_bytes() + stream_.scratch_bytes(); }

 private:
  struct LogitRow {
    StepWork* work;
    std::int32_t row;
  };

  struct RowsOfOne {
    StepWork* work = nullptr;
    std::size_t first = 0;  ///< of the logits
    std::vector<std::int32_t> rows = {};
  };

  void pool(std::span<const LogitRow> rows, const Tensor& hidden);
  void decide(std::span<const LogitRow> rows, const Tensor& logits);
  /// Takes those out of `parts` whose tokens the device can choose, and lets it.
  void choose_on_device(std::vector<RowsOfOne>& parts, const Tensor& logits, Sequence::Deadline until);

  const LoadedModel& model_;
  bool chooses_on_device_;
  std::chrono::milliseconds mask_deadline_;
  device::Stream stream_;
  Arena arena_;
};

}  // namespace lanner::engine
