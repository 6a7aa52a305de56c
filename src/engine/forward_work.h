// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "device/roofline.h"
#include "models/model.h"

namespace lanner::engine {

/// Rows of one forward.
struct ForwardRows {
  std::size_t rows = 1;
  std::size_t wanted = 1;                  ///< rows whose final hidden states are wanted
  std::optional<std::size_t> scored = {};  ///< rows whose logits are formed; none = the wanted ones
  std::size_t sequences = 1;               ///< that the rows belong to
  std::size_t depth = 0;                   ///< positions before the rows, of each sequence
  double kv_element = 4;                   ///< bytes of one cached number
};

/// Products with the weights of one storage.
struct StorageWork {
  device::WeightSpec spec;
  double product_ops = 0;
};

/// What a forward has to read and to multiply at least. Counted: every weight that a row meets once
/// (experts: those expected for random routing), keys and values before the rows and recurrent states.
/// Layers that only the wanted rows pass count for those. Not counted: look-ups, norms, attention products.
struct ForwardWork {
  double read_bytes = 0;
  double state_bytes = 0;                  ///< of read_bytes: recurrent states
  double product_ops = 0;                  ///< a multiply and an add are two
  std::vector<StorageWork> storages = {};  ///< product_ops by how the weights are stored

  void add_products(const StorageWork& work);
  ForwardWork& operator+=(const ForwardWork& other);
  /// Seconds the machine needs for the slower of the two.
  double bound_seconds(const device::Roofline& roofline) const;
};

ForwardWork forward_work(const models::Model& model, const ForwardRows& rows);

}  // namespace lanner::engine
