// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "device/sampling.h"
#include "engine/step_work.h"

namespace lanner::engine {

/// One choice that a device makes for a row of a sequence's work.
struct DeviceChoice {
  std::size_t row = 0;           ///< of the work
  Sequence* sequence = nullptr;  ///< that decides; none: the row scores a token of the prompt
  device::SampleJob job;
};

/// What the rows [first_logits, first_logits + rows.size()) of a step's logits are good for, in the order in
/// which it is to be used; `rows` are the work's. Nothing when some row's logits are needed themselves, or a
/// constraint is late at `until`.
std::optional<std::vector<DeviceChoice>> device_choices(const StepWork& work,
                                                        std::span<const std::int32_t> rows,
                                                        std::size_t first_logits, std::size_t columns,
                                                        Sequence::Deadline until);
/// Uses what came of a choice, unless it went another way before.
void use_choice(StepWork& work, const DeviceChoice& choice, const device::SampleResult& result,
                Sequence::Deadline until);

/// Index of the token that a row's logits decide or score.
inline std::size_t next_of(const StepWork& work, std::size_t row) { return work.begin + row + 1; }
/// Rows whose tokens are the sequence's own.
std::size_t matching_rows(const StepWork& work);
/// True when the row decides a sequence's next token.
bool decides(const StepWork& work, std::size_t row);

}  // namespace lanner::engine
