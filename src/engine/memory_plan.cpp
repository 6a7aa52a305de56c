// SPDX-License-Identifier: MIT
#include "engine/memory_plan.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "device/cuda.h"
#include "engine/largest.h"

namespace lanner::engine {
namespace {

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

std::size_t usable_bytes(const device::Ops& ops) {
  // Scratch of a GPU's operations, which is planned by nobody.
  constexpr std::size_t kDeviceScratch = std::size_t{256} << 20;
  if (const auto memory = device::device_memory(ops)) {
    const std::size_t most = memory->free_bytes / 100 * 95;
    return most - std::min(most, kDeviceScratch);
  }
  constexpr std::size_t kKiB = 1024;
  std::size_t bytes = read_number("/proc/meminfo", "MemAvailable:") * kKiB;
  const std::size_t group_limit = read_number("/sys/fs/cgroup/memory.max", "");
  const std::size_t group_used = read_number("/sys/fs/cgroup/memory.current", "");
  if (group_limit > group_used) bytes = std::min(bytes, group_limit - group_used);
  return bytes / 100 * 85;
}

}  // namespace lanner::engine
