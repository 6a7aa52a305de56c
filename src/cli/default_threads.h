// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>

namespace lanner::cli {

/// Whole CPUs that a control group grants its processes, read from `root` (/sys/fs/cgroup): cpu.max of
/// version 2, or cpu/cpu.cfs_quota_us of version 1. At least 1; nothing when there is no limit.
std::optional<int> control_group_cpus(const std::filesystem::path& root);

/// Threads to use when none are asked for: the cores this process may run on, fewer when its control group
/// grants less.
int default_threads();

}  // namespace lanner::cli
