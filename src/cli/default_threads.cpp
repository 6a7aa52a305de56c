// SPDX-License-Identifier: MIT
#include "cli/default_threads.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "core/thread_pool.h"

namespace lanner::cli {
namespace {

std::optional<int> whole_cpus(double quota, double period) {
  if (!(quota > 0 && period > 0)) return std::nullopt;
  return std::max(1, static_cast<int>(std::min(quota / period, 65536.0)));
}

}  // namespace

std::optional<int> control_group_cpus(const std::filesystem::path& root) {
  std::string quota;
  double period = 0;
  if (std::ifstream file(root / "cpu.max"); file >> quota >> period) {
    if (quota == "max") return std::nullopt;
    return whole_cpus(std::strtod(quota.c_str(), nullptr), period);
  }
  double quota_us = 0;
  std::ifstream quota_file(root / "cpu" / "cpu.cfs_quota_us");
  std::ifstream period_file(root / "cpu" / "cpu.cfs_period_us");
  if (quota_file >> quota_us && period_file >> period) return whole_cpus(quota_us, period);
  return std::nullopt;
}

int default_threads() {
  const int cores = available_cores();
  const auto granted = control_group_cpus("/sys/fs/cgroup");
  return granted ? std::min(cores, *granted) : cores;
}

}  // namespace lanner::cli
