// SPDX-License-Identifier: MIT
#include "core/tensor.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "core/view.h"

using namespace lanner;

TEST_CASE("tensor: rows, reshapes and slices see the same memory") {
  std::vector<float> memory(24);
  std::iota(memory.begin(), memory.end(), 0.0F);
  const Tensor tensor{memory.data(), DType::kF32, Shape{2, 3, 4}};
  CHECK(tensor.element_count() == 24);
  CHECK(tensor.size_bytes() == 96);
  CHECK(tensor.rows() == 6);
  CHECK(tensor.columns() == 4);
  CHECK(tensor.row(5)[0] == 20);
  CHECK(tensor.reshaped({4, 6}).row(1)[0] == 6);
  const Tensor second = tensor.slice(1, 2);
  CHECK(second.shape == Shape{1, 3, 4});
  CHECK(second.floats()[0] == 12);
  CHECK(tensor.slice(1, 1).element_count() == 0);
}

TEST_CASE("view: indexes row-major and strided memory") {
  std::vector<int> memory(24);
  std::iota(memory.begin(), memory.end(), 0);
  const View<int, 3> dense(memory.data(), {2, 3, 4});
  CHECK(dense(1, 2, 3) == 23);
  CHECK(dense.extent(1) == 3);
  CHECK(dense.stride(0) == 12);
  const View<int, 2> strided(memory.data() + 1, {3, 2}, {8, 1});
  CHECK(strided(2, 1) == 18);
  CHECK(strided.row(1)[0] == 9);
  CHECK(strided.row(1).size() == 2);
}
