// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cache/prefix_store.h"
#include "engine/loaded_model.h"

namespace lanner::engine {

/// Tells models apart: a hash of config.json, of every tensor's name, type and shape, and of the first and
/// last 4 KiB of each weight file's tensors. Two folders with one fingerprint hold the same model but for
/// damage inside a file.
std::string model_fingerprint(const io::Checkpoint& checkpoint);

/// How each layer stores keys and values: "bf16", or "bf16 0:q8 3:q4" where layers differ.
std::string kv_types_name(const cache::CacheSpec& spec);

/// The key of snapshots of this model as it was loaded: its fingerprint, with the instruction set and
/// arithmetic its results depend on, and its storage of keys and values.
cache::PrefixKey prefix_key(const LoadedModel& model);

}  // namespace lanner::engine
