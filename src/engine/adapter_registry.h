// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/adapter_set.h"

namespace lanner::engine {

/// An adapter that requests may choose.
struct MountedAdapter {
  std::string id;
  std::filesystem::path folder;
  float scale = 1;  ///< multiplies what the adapter's own config says
  std::shared_ptr<const models::Adapter> adapter;
  std::size_t in_use = 0;  ///< requests that are computed with it
};

/// What became of a mount.
enum class MountResult : std::uint8_t {
  kMounted,
  kWasMounted,  ///< the same adapter with the same scale has this id already
  kConflict,    ///< another one has
};

/// What an unmount does while requests use the adapter.
enum class UnmountRule : std::uint8_t {
  kRefuse,  ///< nothing
  kLetEnd,  ///< they keep it to their end; others cannot choose it any more
};

enum class UnmountResult : std::uint8_t { kUnmounted, kUnknown, kInUse };

/// The adapters mounted over one model, by id. May be used from any thread.
class AdapterRegistry {
 public:
  /// Makes an adapter available; all are for the same model. Throws Error kInvalidArgument for a bad id or
  /// scale.
  MountResult mount(const std::string& id, const std::filesystem::path& folder, models::Adapter adapter,
                    float scale);
  /// For requests from now on. False when there is no such adapter. Throws Error kInvalidArgument.
  bool set_scale(const std::string& id, float scale);
  /// `on_release`: called once the last request that uses it has ended, perhaps at once; on any thread. It
  /// must neither wait nor call the registry.
  UnmountResult unmount(const std::string& id, UnmountRule rule,
                        std::function<void(const models::Adapter&)> on_release);

  /// Throws Error kNotFound for an id that is not mounted. nullptr for no choices.
  std::shared_ptr<const AdapterSet> select(std::span<const AdapterChoice> choices);
  /// Sorted by id.
  std::vector<MountedAdapter> list() const;
  std::optional<MountedAdapter> find(const std::string& id) const;

 private:
  struct Entry {
    std::filesystem::path folder;
    float scale = 1;
    std::shared_ptr<AdapterPin> pin;
  };

  MountedAdapter describe(const std::string& id, const Entry& entry) const;
  std::size_t users_of(const AdapterPin& pin) const;

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  /// Sets in use, by name and key: requests that choose alike share one.
  std::map<std::string, std::weak_ptr<const AdapterSet>> sets_;
};

}  // namespace lanner::engine
