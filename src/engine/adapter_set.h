// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "layers/lora.h"
#include "models/adapter.h"

namespace lanner::engine {

/// One adapter of several that are to be used together.
struct AdapterChoice {
  std::string id;
  float strength = 1;  ///< multiplies the adapter's scale

  bool operator==(const AdapterChoice&) const = default;
};

/// Largest strength, and smallest with a minus.
inline constexpr float kMostStrength = 1000;

/// Reads "a", "a+b", "a@0.5,b" or "none": adapters in the order they are added, each with its strength. Empty
/// text is none. Throws Error kInvalidArgument for anything else.
std::vector<AdapterChoice> parse_adapter_choices(std::string_view text);

/// True for what an adapter may be called: 1 to 128 of A-Z a-z 0-9 . _ -, not "none", not led by a dot.
bool is_adapter_id(std::string_view text);

/// An adapter while somebody uses it.
struct AdapterPin {
  std::shared_ptr<const models::Adapter> adapter;
  std::atomic<bool> is_mounted{true};
  /// Called when nobody does any more, by whoever was the last.
  std::function<void(const models::Adapter&)> on_release;

  ~AdapterPin() {
    if (on_release) on_release(*adapter);
  }
};

/// Adapters chosen together, as an engine computes with them. Keeps them in memory. Immutable.
struct AdapterSet {
  std::string name;              ///< "a+b@0.5", as it was chosen
  std::vector<std::string> ids;  ///< in order
  /// Tells sets apart that compute something else: content and strength of each, in order.
  std::string key;
  std::vector<std::shared_ptr<const AdapterPin>> pins;
  layers::LoraSet lora;

  /// False once one of them was unmounted: what is computed with the set is of no use to later requests.
  bool is_mounted() const;
};

}  // namespace lanner::engine
