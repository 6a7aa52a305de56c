// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/prefix_store.h"
#include "core/token.h"

namespace lanner::engine {

/// A snapshot read from a file.
struct SavedState {
  std::vector<TokenId> ids;
  cache::SequenceCache cache;  ///< after all of ids
};

/// A sequence as it stands after `ids`, and the memory its caches are in.
struct StateToSave {
  std::span<const TokenId> ids;
  const cache::SequenceCache& sequence;
  Memory& memory = host_memory();
};

/// A snapshot's bytes, copied out of its caches.
struct StateImage {
  std::string header;                          ///< JSON
  std::vector<std::vector<std::byte>> layers;  ///< what each layer holds
  std::size_t tokens = 0;

  /// Of the file.
  std::size_t size_bytes() const;
};

/// Copies a snapshot of a sequence. Throws Error kInternal when the sequence does not have as many positions
/// as there are ids, or has an open draft.
StateImage state_image(const cache::PrefixKey& key, const StateToSave& state);

/// Writes a snapshot. The file appears complete or not at all, and is on disk when this
/// returns. Format (docs/formats.md): "LANKV001", the header's length and XXH64, a JSON header, then each
/// layer's blocks at a multiple of 16384 bytes, with an XXH64 each. Throws Error kIo.
void write_state(const std::filesystem::path& file, const StateImage& image);

/// state_image() and write_state().
void save_state(const std::filesystem::path& file, const cache::PrefixKey& key, const StateToSave& state);

/// Reads what save_state() wrote, for the same model, storage and adapters: it continues bit for bit as the
/// saved sequence would have, on the same build and machine. Throws Error kNotFound, kIo; kInvalidArgument
/// when it was saved for something else, naming what; kCorrupt for any damage; kOutOfMemory when the pool
/// does not hold it.
SavedState load_state(const std::filesystem::path& file, const cache::PrefixKey& key,
                      const cache::CacheSpec& spec, const cache::BlockPool& pool);

/// load_state() from bytes; `source` names them in errors.
SavedState parse_state(std::span<const std::byte> file, std::string_view source, const cache::PrefixKey& key,
                       const cache::CacheSpec& spec, const cache::BlockPool& pool);

}  // namespace lanner::engine
