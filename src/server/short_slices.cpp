// SPDX-License-Identifier: MIT
#include "server/short_slices.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace lanner::server {
namespace {

/// struct sched_attr of sched_setattr(2), which the C library does not declare.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

constexpr std::uint64_t kShortestSliceNs = 100'000;

}  // namespace

void ask_for_short_slices() {
  SchedulingAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime_ns = kShortestSliceNs;
  // Refused or ignored where the kernel knows no slices: the thread is scheduled as before.
  (void)::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace lanner::server
