// SPDX-License-Identifier: MIT
#include "device/packed_matrix.h"

namespace lanner::device {

PackedMatrix::PackedMatrix(const kernels::WeightView& weight, Isa isa, ThreadPool& pool)
    : memory_(kernels::packed_bytes(weight.spec, weight.rows, weight.columns)),
      view_{.spec = weight.spec, .rows = weight.rows, .columns = weight.columns, .data = memory_.data()},
      kernels_(kernels::find_int8_kernels(weight.spec, isa)) {
  // The split of the products, so that each thread first touches the memory it will read.
  pool.split(view_.tiles(), 1, [&](std::size_t begin, std::size_t end, int) {
    kernels::pack_tiles(memory_.data(), weight, begin, end);
  });
}

}  // namespace lanner::device
