// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "core/cpu_features.h"
#include "core/thread_pool.h"
#include "device/packed_matrix.h"
#include "kernels/linear/bf16_linear.h"
#include "kernels/linear/linear.h"

namespace lanner::device {

using kernels::WeightFormat;
using kernels::WeightSpec;
using kernels::WeightView;

/// What a product is computed in.
enum class Compute : std::uint8_t {
  kExact,  ///< float activations: what a float32 reference computes
  kInt8,   ///< activations rounded to int8 per weight group where the weight's format has a packed form, to
           ///< bfloat16 beside dense bfloat16 weights where the CPU multiplies those faster
  kHalf,   ///< activations rounded to half precision, 11 bits beneath the row's largest; GPUs only
};

/// "exact", "int8", "half"
std::string_view name(Compute compute);
/// The opposite; throws Error kInvalidArgument for other words.
Compute parse_compute(std::string_view text);

class TiledMatrix;

/// A weight matrix [rows, columns] = [out, in] on a device with the kernels bound for its format. Immutable
/// but for pack(), once, at load; copies share the memory, which `owner` keeps alive (a mapped checkpoint or
/// a Buffer).
class Matrix {
 public:
  Matrix() = default;
  /// Throws Error kUnsupported when no kernel takes the format.
  Matrix(const kernels::WeightView& view, std::shared_ptr<const void> owner, Isa isa);

  /// Interleaves the weight for int8 activations where its format and the instruction set allow; products use
  /// that form from then on, look-ups the original. Dense bfloat16 weights stay as they are and get kernels
  /// for rounded activations where there are any.
  void pack(Isa isa, ThreadPool& pool);
  /// True where pack() interleaves.
  bool packs(Isa isa) const;
  /// What pack() would do, without the memory: to plan with.
  void plan_packed(Isa isa);

  /// Takes a form for a GPU's tensor cores in place of the checkpoint's, which is let go.
  void set_tiled(std::shared_ptr<const TiledMatrix> tiled);

  std::size_t rows() const { return view_.rows; }
  std::size_t columns() const { return view_.columns; }
  const kernels::WeightView& view() const { return view_; }
  const kernels::LinearKernels& kernels() const { return kernels_; }
  /// The interleaved form, or nullptr.
  const PackedMatrix* packed() const { return packed_.get(); }
  /// For products with activations rounded to bfloat16, or nulls.
  const kernels::Bf16Kernels& bf16_kernels() const { return bf16_kernels_; }
  /// The form for a GPU's tensor cores, or nullptr. With it, view() describes the format alone.
  const TiledMatrix* tiled() const { return tiled_.get(); }
  /// Bytes of elements, scales and biases.
  std::size_t size_bytes() const;

 private:
  void bind_bf16(Isa isa);

  kernels::WeightView view_;
  kernels::LinearKernels kernels_;
  kernels::Bf16Kernels bf16_kernels_;
  std::shared_ptr<const PackedMatrix> packed_;
  std::shared_ptr<const TiledMatrix> tiled_;
  std::shared_ptr<const void> owner_;
};

/// How products with a weight are formed.
enum class ProductArithmetic : std::uint8_t { kFloat, kBf16, kInt8 };

/// What Matrix::pack() leads to on a CPU, or not calling it.
ProductArithmetic product_arithmetic(const WeightSpec& spec, Compute compute, Isa isa);

/// Bytes that rows × columns take in a format, scales and biases included.
std::size_t weight_bytes(const kernels::WeightSpec& spec, std::size_t rows, std::size_t columns);

/// Rows [begin, end) of a matrix.
kernels::WeightView weight_rows(const kernels::WeightView& view, std::size_t begin, std::size_t end);

}  // namespace lanner::device
