// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "cache/layer_spec.h"
#include "io/checkpoint.h"

namespace lanner::engine {

/// How the layers that kv_config.json lists store keys and values: an array of {"layer_idx", "bits",
/// "group_size"}. Empty when the folder has no such file. Layers that share another's cache may be listed and
/// are left out. Throws Error kCorrupt for a wrong field, an index that is out of range or given twice, or a
/// layer without keys and values; kUnsupported for bits other than 8, 6 and 4 and groups other than 64.
std::map<std::size_t, device::KvType> read_kv_config(const io::Checkpoint& checkpoint,
                                                     const std::vector<cache::LayerSpec>& layers);

}  // namespace lanner::engine
