// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>

#include "cli/environment.h"
#include "device/roofline.h"

namespace lanner::cli {

/// What the limits of a machine depend on, beside the machine.
struct LimitsKey {
  Isa isa = Isa::kReference;
  int threads = 1;
};

/// Where what was measured of this machine is kept: $XDG_CACHE_HOME/lanner/machine.json, else under ~/.cache;
/// nothing when neither variable is set.
std::optional<std::filesystem::path> machine_limits_file(const Environment& environment);

/// What `bench --roofline` measured last; nothing when it never did on this processor. Files that are damaged
/// or of another processor count as none.
std::optional<device::Roofline> read_machine_limits(const std::filesystem::path& file, const LimitsKey& key);

/// Keeps a measurement beside those of other keys. Throws Error kIo.
void write_machine_limits(const std::filesystem::path& file, const LimitsKey& key,
                          const device::Roofline& limits);

}  // namespace lanner::cli
