// SPDX-License-Identifier: MIT
#include "synthetic/tensor_filler.h"

#include <algorithm>
#include <span>
#include <string>

#include "core/float_convert.h"
#include "quantize/fp_codes.h"

namespace lanner::synthetic {
namespace {

constexpr std::size_t kPieceWords = 64 * 1024;
constexpr float kScaleSpread = 0.25F;

Shape with_columns(const Shape& shape, std::int64_t columns) {
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents.back() = columns;
  return Shape(extents);
}

}  // namespace

std::vector<io::TensorDeclaration> PlannedTensor::declarations() const {
  if (!format) return {{tensor.name, tensor.dtype, tensor.shape}};
  const std::int64_t columns = tensor.shape.back();
  const Shape table = with_columns(tensor.shape, columns / format->group);
  const Shape words = with_columns(tensor.shape, columns * format->bits / 32);
  if (format->mode != quantize::QuantMode::kAffine)
    return {{tensor.name, DType::kU32, words}, {tensor.module + ".scales", DType::kU8, table}};
  return {{tensor.name, DType::kU32, words},
          {tensor.module + ".scales", tensor.dtype, table},
          {tensor.module + ".biases", tensor.dtype, table}};
}

std::uint64_t PlannedTensor::size_bytes() const {
  std::uint64_t total = 0;
  for (const io::TensorDeclaration& part : declarations())
    total += static_cast<std::uint64_t>(part.shape.element_count()) * lanner::size_bytes(part.dtype);
  return total;
}

TensorFiller::TensorFiller(std::uint64_t seed) : seed_(seed), piece_(kPieceWords) {}

void TensorFiller::fill(const PlannedTensor& planned, io::SafetensorsWriter& writer) {
  RandomWords words(seed_, planned.tensor.name);
  if (!planned.format) return fill_floats(planned.tensor, writer, words);
  fill_codes(planned, writer, words);
  if (planned.format->mode == quantize::QuantMode::kAffine)
    fill_scales(planned, writer, words);
  else
    fill_scale_codes(planned, writer, words);
}

void TensorFiller::fill_codes(const PlannedTensor& planned, io::SafetensorsWriter& writer,
                              RandomWords& words) {
  auto left = static_cast<std::uint64_t>(planned.tensor.shape.element_count()) *
              static_cast<std::uint64_t>(planned.format->bits) / 8;
  while (left != 0) {
    const std::uint64_t count = std::min<std::uint64_t>(left, kPieceWords * sizeof(std::uint64_t));
    words.fill(std::span(piece_).first((count + 7) / 8));
    writer.append(planned.tensor.name, std::as_bytes(std::span(piece_)).first(count));
    left -= count;
  }
}

void TensorFiller::fill_scales(const PlannedTensor& planned, io::SafetensorsWriter& writer,
                               RandomWords& words) {
  const auto steps = static_cast<float>((1 << planned.format->bits) - 1);
  const float step = (planned.tensor.high - planned.tensor.low) / steps;
  const auto groups = static_cast<std::size_t>(planned.tensor.shape.element_count() / planned.format->group);
  std::vector<std::uint16_t> scales;
  std::vector<std::uint16_t> biases;
  for (std::size_t done = 0; done < groups;) {
    const std::size_t count = std::min(groups - done, kPieceWords);
    scales.clear();
    biases.clear();
    for (std::size_t i = 0; i < count; ++i) {
      scales.push_back(float_to_bf16(step * words.next_float(1 - kScaleSpread, 1 + kScaleSpread)));
      biases.push_back(float_to_bf16(-bf16_to_float(scales.back()) * steps / 2));
    }
    writer.append_values<std::uint16_t>(planned.tensor.module + ".scales", scales);
    writer.append_values<std::uint16_t>(planned.tensor.module + ".biases", biases);
    done += count;
  }
}

void TensorFiller::fill_scale_codes(const PlannedTensor& planned, io::SafetensorsWriter& writer,
                                    RandomWords& words) {
  auto left = static_cast<std::size_t>(planned.tensor.shape.element_count() / planned.format->group);
  std::vector<std::uint8_t> scales;
  while (left != 0) {
    scales.resize(std::min(left, kPieceWords));
    for (std::uint8_t& scale : scales) {
      const float largest = planned.tensor.high * words.next_float(1 - kScaleSpread, 1 + kScaleSpread);
      std::uint8_t unused = 0;
      scale = quantize::quantize_fp_group({&unused, 1}, {&largest, 1}, planned.format->mode);
    }
    writer.append_values<std::uint8_t>(planned.tensor.module + ".scales", scales);
    left -= scales.size();
  }
}

void TensorFiller::fill_floats(const SyntheticTensor& tensor, io::SafetensorsWriter& writer,
                               RandomWords& words) {
  const auto total = static_cast<std::size_t>(tensor.shape.element_count());
  std::vector<float> wide;
  std::vector<std::uint16_t> narrow;
  for (std::size_t done = 0; done < total;) {
    const std::size_t count = std::min(total - done, kPieceWords);
    wide.resize(count);
    for (float& value : wide) value = words.next_float(tensor.low, tensor.high);
    if (tensor.dtype == DType::kF32) {
      writer.append_values<float>(tensor.name, wide);
    } else {
      narrow.resize(count);
      std::ranges::transform(wide, narrow.begin(), float_to_bf16);
      writer.append_values<std::uint16_t>(tensor.name, narrow);
    }
    done += count;
  }
}

}  // namespace lanner::synthetic
