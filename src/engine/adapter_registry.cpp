// SPDX-License-Identifier: MIT
#include "engine/adapter_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "io/message_text.h"

namespace lanner::engine {
namespace {

void check_scale(float scale) {
  if (!(std::abs(scale) <= kMostStrength))
    throw Error(ErrorKind::kInvalidArgument, fmt::format("the scale is {}, expected a number from -{} to {}",
                                                         scale, kMostStrength, kMostStrength));
}

}  // namespace

MountResult AdapterRegistry::mount(const std::string& id, const std::filesystem::path& folder,
                                   models::Adapter adapter, float scale) {
  if (!is_adapter_id(id))
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} cannot be an adapter's id, expected 1 to 128 of A-Z a-z 0-9 . _ - that do not "
                    "begin with a dot, and not none",
                    io::in_quotes(id)));
  check_scale(scale);
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(id); found != entries_.end()) {
    const Entry& entry = found->second;
    const bool same = entry.pin->adapter->content_hash == adapter.content_hash && entry.scale == scale;
    return same ? MountResult::kWasMounted : MountResult::kConflict;
  }
  auto pin = std::make_shared<AdapterPin>();
  pin->adapter = std::make_shared<const models::Adapter>(std::move(adapter));
  entries_[id] = {folder, scale, std::move(pin)};
  return MountResult::kMounted;
}

bool AdapterRegistry::set_scale(const std::string& id, float scale) {
  check_scale(scale);
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  found->second.scale = scale;
  return true;
}

UnmountResult AdapterRegistry::unmount(const std::string& id, UnmountRule rule,
                                       std::function<void(const models::Adapter&)> on_release) {
  std::shared_ptr<AdapterPin> pin;  // let go after the lock
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return UnmountResult::kUnknown;
  if (rule == UnmountRule::kRefuse && users_of(*found->second.pin) > 0) return UnmountResult::kInUse;
  pin = std::move(found->second.pin);
  entries_.erase(found);
  pin->is_mounted = false;
  pin->on_release = std::move(on_release);
  return UnmountResult::kUnmounted;
}

std::shared_ptr<const AdapterSet> AdapterRegistry::select(std::span<const AdapterChoice> choices) {
  if (choices.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  std::string name, key;
  std::vector<std::string> ids;
  std::vector<std::shared_ptr<const AdapterPin>> pins;
  std::vector<layers::LoraUse> uses;
  for (const AdapterChoice& choice : choices) {
    const auto found = entries_.find(choice.id);
    if (found == entries_.end())
      throw Error(ErrorKind::kNotFound, "there is no adapter " + io::in_quotes(choice.id));
    const Entry& entry = found->second;
    const float strength = choice.strength * entry.scale;
    const char* const joint = name.empty() ? "" : "+";
    name += joint + choice.id;
    if (choice.strength != 1) name += fmt::format("@{}", choice.strength);
    key += fmt::format("{}{}@{}", joint, entry.pin->adapter->content_hash, strength);
    ids.push_back(choice.id);
    pins.push_back(entry.pin);
    uses.push_back({entry.pin->adapter->weights, strength});
  }
  std::erase_if(sets_, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<const AdapterSet>& known = sets_[name + " " + key];
  if (auto set = known.lock(); set != nullptr && set->is_mounted()) return set;
  auto set = std::make_shared<const AdapterSet>(AdapterSet{.name = std::move(name),
                                                           .ids = std::move(ids),
                                                           .key = std::move(key),
                                                           .pins = std::move(pins),
                                                           .lora = layers::LoraSet(std::move(uses))});
  known = set;
  return set;
}

std::size_t AdapterRegistry::users_of(const AdapterPin& pin) const {
  std::size_t users = 0;
  for (const auto& [key, known] : sets_) {
    const auto set = known.lock();
    if (set != nullptr && std::ranges::any_of(set->pins, [&](const auto& p) { return p.get() == &pin; }))
      users += static_cast<std::size_t>(set.use_count()) - 1;
  }
  return users;
}

MountedAdapter AdapterRegistry::describe(const std::string& id, const Entry& entry) const {
  return {id, entry.folder, entry.scale, entry.pin->adapter, users_of(*entry.pin)};
}

std::vector<MountedAdapter> AdapterRegistry::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<MountedAdapter> mounted;
  for (const auto& [id, entry] : entries_) mounted.push_back(describe(id, entry));
  return mounted;
}

std::optional<MountedAdapter> AdapterRegistry::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  return describe(id, found->second);
}

}  // namespace lanner::engine
