// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "device/roofline.h"
#include "models/model.h"

namespace lanner::engine {

/// Rows of one forward.
struct ForwardRows {
  std::size_t rows = 1;
  std::size_t wanted = 1;     ///< rows whose logits are formed
  std::size_t sequences = 1;  ///< that the rows belong to
  std::size_t depth = 0;      ///< positions before the rows, of each sequence
  double kv_element = 4;      ///< bytes of one cached number
};

/// What a forward has to read and to multiply at least. Counted: every weight that a row meets once
/// (experts: those expected for random routing), keys and values before the rows and recurrent states.
/// Layers that only the wanted rows pass count for those. Not counted: look-ups, norms, attention products.
struct ForwardWork {
  double read_bytes = 0;
  double state_bytes = 0;  ///< of read_bytes: recurrent states
  double product_ops = 0;  ///< a multiply and an add are two

  ForwardWork& operator+=(const ForwardWork& other);
  /// Seconds the machine needs for the slower of the two.
  double bound_seconds(const device::Roofline& roofline) const;
};

ForwardWork forward_work(const models::Model& model, const ForwardRows& rows);

}  // namespace lanner::engine
