// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <span>

namespace lanner {

/// Non-owning strided view of typed elements. The innermost axis is contiguous.
template <typename T, int Rank>
class View {
  static_assert(Rank >= 1 && Rank <= 4);

 public:
  View() = default;
  View(T* data, std::array<std::size_t, Rank> extents) : data_(data), extents_(extents) {
    std::size_t stride = 1;
    for (int axis = Rank - 1; axis >= 0; --axis) {
      strides_[axis] = stride;
      stride *= extents_[axis];
    }
  }
  View(T* data, std::array<std::size_t, Rank> extents, std::array<std::size_t, Rank> strides)
      : data_(data), extents_(extents), strides_(strides) {
    assert(strides_[Rank - 1] == 1);
  }

  T* data() const { return data_; }
  std::size_t extent(int axis) const { return extents_[axis]; }
  std::size_t stride(int axis) const { return strides_[axis]; }

  template <typename... Index>
  T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == Rank);
    const std::array<std::size_t, Rank> at{static_cast<std::size_t>(index)...};
    std::size_t offset = 0;
    for (int axis = 0; axis < Rank; ++axis) {
      assert(at[axis] < extents_[axis]);
      offset += at[axis] * strides_[axis];
    }
    return data_[offset];
  }

  /// Row `index` of a matrix.
  std::span<T> row(std::size_t index) const requires(Rank == 2) {
    assert(index < extents_[0]);
    return {data_ + index * strides_[0], extents_[1]};
  }

 private:
  T* data_ = nullptr;
  std::array<std::size_t, Rank> extents_{};
  std::array<std::size_t, Rank> strides_{};
};

}  // namespace lanner
