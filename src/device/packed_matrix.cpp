// SPDX-License-Identifier: MIT
#include "device/packed_matrix.h"

namespace lanner::device {

PackedMatrix::PackedMatrix(const kernels::WeightView& weight, Isa isa, Buffer memory)
    : memory_(std::move(memory)),
      view_{.spec = weight.spec, .rows = weight.rows, .columns = weight.columns, .data = memory_.data()},
      kernels_(kernels::find_int8_kernels(weight.spec, isa)) {}

PackedMatrix::PackedMatrix(const kernels::WeightView& weight, Isa isa, ThreadPool& pool)
    : PackedMatrix(weight, isa, Buffer(kernels::packed_bytes(weight.spec, weight.rows, weight.columns))) {
  // The split of the products, so that each thread first touches the memory it will read.
  pool.split(view_.tiles(), 1, [&](std::size_t begin, std::size_t end, int) {
    kernels::pack_tiles(memory_.data(), weight, begin, end);
  });
}

PackedMatrix PackedMatrix::planned(const kernels::WeightView& weight, Isa isa) {
  return PackedMatrix(weight, isa, Buffer());
}

}  // namespace lanner::device
