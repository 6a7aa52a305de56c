// SPDX-License-Identifier: MIT
#include "quantize/tensor_converter.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/error.h"
#include "quantize/float_elements.h"
#include "quantize/row_encoder.h"

namespace lanner::quantize {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// Remembers the first row that holds a NaN or infinity; safe to use from many threads.
class BadRow {
 public:
  void report(std::size_t row) {
    std::size_t seen = row_.load(std::memory_order_relaxed);
    while (row < seen && !row_.compare_exchange_weak(seen, row, std::memory_order_relaxed)) {
    }
  }
  void check(const PlannedTensor& tensor) const {
    if (row_.load() == kNone) return;
    throw io::tensor_error(*tensor.target.source,
                           "holds a NaN or an infinity, which no quantized form can represent; the file is "
                           "damaged or the training diverged");
  }

 private:
  std::atomic<std::size_t> row_{kNone};
};

/// Widens a row to float in the model's dtype, with the 1 that raw norm gains lack.
void load_row(std::span<float> out, std::span<const std::byte> bytes, const PlannedTensor& tensor) {
  load_floats(out, bytes, tensor.target.source->dtype, tensor.dtype);
  if (tensor.target.change == Change::kAddOne)
    for (float& value : out) value += 1.0F;
}

}  // namespace

void TensorConverter::convert(const PlannedTensor& tensor, io::SafetensorsWriter& writer,
                              const std::function<void(std::size_t)>& advance) {
  const TargetTensor& target = tensor.target;
  const std::size_t element_bytes = size_bytes(target.source->dtype);
  if (target.change == Change::kChannelsLast || target.part == Part::kTower ||
      !is_float(target.source->dtype)) {
    if (target.change == Change::kChannelsLast)
      write_channels_last(tensor, writer);
    else
      copy(tensor, writer);
    for (const auto piece : target.pieces) advance(piece.size());
    return;
  }
  const std::size_t columns = target.shape.rank() == 0 ? 1 : tensor.columns();
  const std::size_t row_bytes = columns * element_bytes;
  const std::size_t chunk_rows = std::max<std::size_t>(1, kChunkElements / std::max<std::size_t>(1, columns));
  for (const std::span<const std::byte> piece : target.pieces) {
    const std::size_t total = row_bytes == 0 ? 0 : piece.size() / row_bytes;
    for (std::size_t row = 0; row < total; row += chunk_rows) {
      const std::size_t count = std::min(chunk_rows, total - row);
      const Rows rows{piece.subspan(row * row_bytes, count * row_bytes), count, columns};
      if (tensor.format)
        quantize(tensor, rows, writer);
      else
        convert_floats(tensor, rows, writer);
      advance(rows.bytes.size());
    }
  }
}

void TensorConverter::copy(const PlannedTensor& tensor, io::SafetensorsWriter& writer) {
  for (const std::span<const std::byte> piece : tensor.target.pieces)
    writer.append(tensor.target.name, piece);
}

void TensorConverter::convert_floats(const PlannedTensor& tensor, const Rows& rows,
                                     io::SafetensorsWriter& writer) {
  const std::size_t row_bytes = rows.bytes.size() / rows.count;
  const std::size_t out_bytes = rows.columns * size_bytes(tensor.dtype);
  codes_.resize(rows.count * out_bytes);
  BadRow bad;
  threads_.split(rows.count, 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> values(rows.columns);
    for (std::size_t row = begin; row < end; ++row) {
      load_row(values, rows.bytes.subspan(row * row_bytes, row_bytes), tensor);
      if (find_not_finite(values) != values.size()) bad.report(row);
      for (std::size_t i = 0; i < values.size(); ++i)
        store_float(&codes_[row * out_bytes], i, values[i], tensor.dtype);
    }
  });
  bad.check(tensor);
  writer.append_values<std::uint8_t>(tensor.target.name, codes_);
}

void TensorConverter::quantize(const PlannedTensor& tensor, const Rows& rows, io::SafetensorsWriter& writer) {
  const QuantFormat& format = *tensor.format;
  const std::size_t row_bytes = rows.bytes.size() / rows.count;
  const std::size_t row_codes = code_bytes(format, rows.columns);
  const std::size_t row_scales = scale_bytes(format, rows.columns, tensor.dtype);
  const std::size_t row_biases = format.mode == QuantMode::kAffine ? row_scales : 0;
  codes_.resize(rows.count * row_codes);
  scales_.resize(rows.count * row_scales);
  biases_.resize(rows.count * row_biases);
  BadRow bad;
  threads_.split(rows.count, 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<float> values(rows.columns);
    RowEncoder encoder(format, tensor.dtype);
    for (std::size_t row = begin; row < end; ++row) {
      load_row(values, rows.bytes.subspan(row * row_bytes, row_bytes), tensor);
      if (find_not_finite(values) != values.size()) {
        bad.report(row);
        continue;
      }
      encoder.encode({.codes = std::span(codes_).subspan(row * row_codes, row_codes),
                      .scales = std::span(scales_).subspan(row * row_scales, row_scales),
                      .biases = std::span(biases_).subspan(row * row_biases, row_biases)},
                     values);
    }
  });
  bad.check(tensor);
  writer.append_values<std::uint8_t>(tensor.module + ".weight", codes_);
  writer.append_values<std::uint8_t>(tensor.module + ".scales", scales_);
  if (row_biases != 0) writer.append_values<std::uint8_t>(tensor.module + ".biases", biases_);
}

/// Convolution kernels [out, in, rest] → [out, rest, in]: small, so they pass through memory whole.
void TensorConverter::write_channels_last(const PlannedTensor& tensor, io::SafetensorsWriter& writer) {
  const io::TensorEntry& source = *tensor.target.source;
  const auto out = static_cast<std::size_t>(source.shape[0]);
  const auto in = static_cast<std::size_t>(source.shape[1]);
  const std::size_t rest =
      out * in == 0 ? 0 : static_cast<std::size_t>(source.shape.element_count()) / (out * in);
  const DType from = source.dtype;
  std::vector<float> values(out * in * rest);
  load_floats(values, source.bytes, from, tensor.dtype);
  if (tensor.target.part != Part::kTower && find_not_finite(values) != values.size()) {
    BadRow bad;
    bad.report(0);
    bad.check(tensor);
  }
  codes_.resize(values.size() * size_bytes(tensor.dtype));
  for (std::size_t o = 0; o < out; ++o)
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t r = 0; r < rest; ++r)
        store_float(codes_.data(), (o * rest + r) * in + i, values[(o * in + i) * rest + r], tensor.dtype);
  writer.append_values<std::uint8_t>(tensor.target.name, codes_);
}

}  // namespace lanner::quantize
