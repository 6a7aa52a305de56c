// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "io/safetensors_writer.h"
#include "quantize/conversion_plan.h"

namespace lanner::quantize {

/// Streams planned tensors into a file: rows are read from the mapped source, encoded by all threads and
/// appended, about kChunkElements at a time, so memory stays small whatever a tensor's size.
class TensorConverter {
 public:
  static constexpr std::size_t kChunkElements = std::size_t{1} << 23;

  explicit TensorConverter(ThreadPool& threads) : threads_(threads) {}

  /// Writes everything that tensor.declarations() lists. `advance` is told of source bytes done. Throws Error
  /// kCorrupt naming the tensor for a NaN or infinity (towers are copied unseen), kIo as the writer does.
  void convert(const PlannedTensor& tensor, io::SafetensorsWriter& writer,
               const std::function<void(std::size_t)>& advance);

 private:
  /// Rows of one contiguous piece of the source.
  struct Rows {
    std::span<const std::byte> bytes;
    std::size_t count = 0;
    std::size_t columns = 0;
  };

  void copy(const PlannedTensor& tensor, io::SafetensorsWriter& writer);
  void convert_floats(const PlannedTensor& tensor, const Rows& rows, io::SafetensorsWriter& writer);
  void quantize(const PlannedTensor& tensor, const Rows& rows, io::SafetensorsWriter& writer);
  void write_channels_last(const PlannedTensor& tensor, io::SafetensorsWriter& writer);

  ThreadPool& threads_;
  std::vector<std::uint8_t> codes_, scales_, biases_;
};

}  // namespace lanner::quantize
