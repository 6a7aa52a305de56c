// SPDX-License-Identifier: MIT
#pragma once

namespace lanner::server {

/// Asks the kernel to run the calling thread in short slices, so that it runs soon after it wakes although
/// every core is busy with threads that compute. Changes neither its share of the processor nor its policy.
/// Linux 6.12 and later (sched_setattr, SCHED_OTHER with a runtime); without effect on others.
void ask_for_short_slices();

}  // namespace lanner::server
