// SPDX-License-Identifier: MIT
#include "engine/memory_plan.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

namespace lanner::engine {
namespace {

/// The largest n <= most with holds(n), which no larger n regains; 0 when there is none.
std::size_t largest(std::size_t most, const std::function<bool(std::size_t)>& holds) {
  std::size_t low = 0;
  while (low < most) {
    const std::size_t middle = low + (most - low + 1) / 2;
    if (holds(middle))
      low = middle;
    else
      most = middle - 1;
  }
  return low;
}

/// The number behind `key` in a file of "key number" lines or of one number; 0 when there is none.
std::size_t read_number(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  std::size_t value = 0;
  if (key.empty()) return in >> value ? value : 0;
  while (in >> word)
    if (word == key) return in >> value ? value : 0;
  return 0;
}

}  // namespace

MemoryPlan::MemoryPlan(const models::Model& model, const device::Ops& ops, const cache::CacheSpec& spec,
                       const StepShape& shape)
    : weights_(model.facts().weights),
      workspace_(plan_workspace(model, ops, spec, shape)),
      sequence_(spec),
      step_rows_(shape.rows) {}

std::size_t MemoryPlan::step_bytes(std::size_t users) const {
  return workspace_.bytes(users) + sequence_.step_bytes(step_rows_, users);
}

std::size_t MemoryPlan::total_bytes(std::size_t users, std::size_t tokens) const {
  return weight_bytes() + step_bytes(users) + users * sequence_.bytes({.tokens = tokens});
}

std::size_t MemoryPlan::max_context(std::size_t users, std::size_t budget, std::size_t context) const {
  return largest(context, [&](std::size_t tokens) { return total_bytes(users, tokens) <= budget; });
}

std::size_t MemoryPlan::max_users(std::size_t tokens, std::size_t budget) const {
  const std::size_t each = sequence_.bytes({.tokens = tokens});
  return largest(budget / std::max<std::size_t>(each, 1),
                 [&](std::size_t users) { return total_bytes(users, tokens) <= budget; });
}

std::size_t usable_bytes() {
  constexpr std::size_t kKiB = 1024;
  std::size_t bytes = read_number("/proc/meminfo", "MemAvailable:") * kKiB;
  const std::size_t group_limit = read_number("/sys/fs/cgroup/memory.max", "");
  const std::size_t group_used = read_number("/sys/fs/cgroup/memory.current", "");
  if (group_limit > group_used) bytes = std::min(bytes, group_limit - group_used);
  return bytes / 100 * 85;
}

}  // namespace lanner::engine
