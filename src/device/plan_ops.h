// SPDX-License-Identifier: MIT
#pragma once

#include "core/planned_memory.h"
#include "device/ops.h"

namespace lanner::device {

/// Operations that compute nothing, for forwards that only tell what memory they would take: tensors live in
/// `memory`, which must outlive the table, and on the CPU every operation takes the scratch of the one it
/// stands for from its stream.
Ops plan_ops(const Ops& ops, PlannedMemory& memory);

}  // namespace lanner::device
