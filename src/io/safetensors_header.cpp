// SPDX-License-Identifier: MIT
#include "io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/error.h"
#include "io/corrupt.h"
#include "io/json.h"
#include "io/json_syntax.h"
#include "io/message_text.h"

namespace lanner::io {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

/// Receives the header's JSON piece by piece. A tree would cost many times the header's size, and would need
/// a bound on its depth.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  std::vector<TensorRecord> tensors;
  std::map<std::string, std::string> metadata;

  bool null() override {
    if (level_ == Level::kTop && name_ == kMetadataKey) return true;  // MLX writes it when there is none
    return reject("null");
  }
  bool boolean(bool value) override { return reject(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return value >= 0 ? number(static_cast<std::uint64_t>(value)) : reject(std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override { return number(value); }
  bool number_float(number_float_t, const string_t& spelling) override { return reject(printable(spelling)); }
  bool binary(binary_t&) override { return reject("binary data"); }

  bool string(string_t& value) override {
    if (level_ == Level::kMetadata) {
      metadata[metadata_key_] = std::move(value);
    } else if (level_ == Level::kTensor && field_ == "dtype" && !has_dtype_) {
      read_dtype(value);
    } else {
      return reject(in_quotes(value));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (level_ == Level::kDocument) {
      level_ = Level::kTop;
    } else if (level_ == Level::kTop && name_ == kMetadataKey) {
      level_ = Level::kMetadata;
    } else if (level_ == Level::kTop) {
      level_ = Level::kTensor;
      record_ = {};
      record_.name = name_;
      has_dtype_ = false;
      shape_.reset();
      offsets_.reset();
    } else {
      return reject("an object");
    }
    return true;
  }

  bool key(string_t& value) override {
    if (level_ == Level::kMetadata) {
      metadata_key_ = std::move(value);
    } else if (level_ == Level::kTop) {
      if (!names_.insert(value).second) fail(fmt::format("tensor {} is listed twice", in_quotes(value)));
      name_ = std::move(value);
    } else {
      field_ = std::move(value);
    }
    return true;
  }

  bool end_object() override {
    if (level_ == Level::kTensor) finish_tensor();
    level_ = level_ == Level::kTop ? Level::kDocument : Level::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    const bool starts_shape = level_ == Level::kTensor && field_ == "shape" && !shape_;
    const bool starts_offsets = level_ == Level::kTensor && field_ == "data_offsets" && !offsets_;
    if (!starts_shape && !starts_offsets) return reject("an array");
    (starts_shape ? shape_ : offsets_).emplace();
    level_ = starts_shape ? Level::kShape : Level::kOffsets;
    return true;
  }
  bool end_array() override {
    level_ = Level::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    fail(fmt::format("header {}: {}", text_position(text_, position == 0 ? 0 : position - 1),
                     syntax_complaint(error.what())));
  }

 private:
  enum class Level { kDocument, kTop, kMetadata, kTensor, kShape, kOffsets };

  [[noreturn]] void fail(const std::string& problem, ErrorKind kind = ErrorKind::kCorrupt) const {
    throw Error(kind, fmt::format("{}: {}", source_, problem));
  }

  /// Reports the value `found` where the format has no place for it. Never returns; bool suits the callers.
  bool reject(const std::string& found) const {
    switch (level_) {
      case Level::kDocument:
        fail(fmt::format("header is {}, expected an object", found));
      case Level::kTop:
        fail(name_ == kMetadataKey
                 ? fmt::format("__metadata__ is {}, expected an object of strings", found)
                 : fmt::format("tensor {} is {}, expected an object", in_quotes(name_), found));
      case Level::kMetadata:
        fail(fmt::format("__metadata__ field {} is {}, expected a string", in_quotes(metadata_key_), found));
      case Level::kTensor:
        fail(fmt::format(
            "tensor {}: field {} is {}, expected one each of dtype (a string), shape and data_offsets "
            "(arrays)",
            in_quotes(name_), in_quotes(field_), found));
      case Level::kShape:
        fail(fmt::format("tensor {}: shape holds {}, expected integers >= 0", in_quotes(name_), found));
      case Level::kOffsets:
        fail(fmt::format("tensor {}: data_offsets hold {}, expected two integers >= 0", in_quotes(name_),
                         found));
    }
    return false;
  }

  void read_dtype(const std::string& spelling) {
    const std::optional<DType> dtype = parse_dtype(spelling);
    if (!dtype) {
      fail(fmt::format(
               "tensor {}: dtype is {}, expected one of F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I64 U64 I32 U32 I16 "
               "U16 I8 U8 BOOL",
               in_quotes(name_), in_quotes(spelling)),
           ErrorKind::kUnsupported);
    }
    record_.dtype = *dtype;
    has_dtype_ = true;
  }

  bool number(std::uint64_t value) {
    if (level_ == Level::kShape && value <= std::uint64_t{INT64_MAX}) {
      if (shape_->size() == Shape::kMaxRank) {
        fail(fmt::format("tensor {}: shape has more than {} axes", in_quotes(name_), Shape::kMaxRank),
             ErrorKind::kUnsupported);
      }
      shape_->push_back(value);
    } else if (level_ == Level::kOffsets && offsets_->size() < 2) {
      offsets_->push_back(value);
    } else if (level_ == Level::kOffsets) {
      fail(fmt::format("tensor {}: data_offsets hold more than two numbers", in_quotes(name_)));
    } else {
      return reject(std::to_string(value));
    }
    return true;
  }

  void finish_tensor() {
    for (const auto& [present, field] :
         {std::pair{has_dtype_, "dtype"}, std::pair{shape_.has_value(), "shape"},
          std::pair{offsets_.has_value(), "data_offsets"}}) {
      if (!present) fail(fmt::format("tensor {}: field {} is missing", in_quotes(name_), in_quotes(field)));
    }
    if (offsets_->size() != 2) {
      fail(fmt::format("tensor {}: data_offsets hold {} numbers, expected two", in_quotes(name_),
                       offsets_->size()));
    }
    const std::vector<std::int64_t> extents(shape_->begin(), shape_->end());
    record_.shape = Shape(extents);
    record_.begin = (*offsets_)[0];
    record_.end = (*offsets_)[1];
    tensors.push_back(std::move(record_));
  }

  std::string_view text_;
  std::string_view source_;
  Level level_ = Level::kDocument;
  std::string name_;          // of the tensor, or "__metadata__"
  std::string field_;         // within the tensor
  std::string metadata_key_;  // within __metadata__
  std::set<std::string> names_;
  TensorRecord record_;
  bool has_dtype_ = false;
  std::optional<std::vector<std::uint64_t>> shape_;
  std::optional<std::vector<std::uint64_t>> offsets_;
};

/// Bytes of the tensor by dtype and shape; std::nullopt when that exceeds 2^63.
std::optional<std::uint64_t> size_by_shape(const TensorRecord& tensor) {
  std::int64_t size = static_cast<std::int64_t>(size_bytes(tensor.dtype));
  for (const std::int64_t extent : tensor.shape.extents()) {
    if (__builtin_mul_overflow(size, extent, &size)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(size);
}

/// Checks one tensor against the data section's size; both sizes in bytes.
void check_extent(const TensorRecord& tensor, std::uint64_t data_begin, std::uint64_t file_size,
                  std::string_view source) {
  const std::uint64_t data_size = file_size - data_begin;
  const std::string label =
      fmt::format("tensor {}: data_offsets [{}, {}]", in_quotes(tensor.name), tensor.begin, tensor.end);
  if (tensor.begin > tensor.end) throw_corrupt(source, label + " end before they begin");
  const std::optional<std::uint64_t> size = size_by_shape(tensor);
  const std::string form = fmt::format("{} {}", name(tensor.dtype), to_string(tensor.shape));
  if (!size)
    throw_corrupt(source, fmt::format("tensor {}: {} is larger than any file", in_quotes(tensor.name), form));
  if (tensor.end - tensor.begin != *size) {
    throw_corrupt(source, fmt::format("{} hold {} bytes, expected {} for {}", label,
                                      tensor.end - tensor.begin, *size, form));
  }
  if (tensor.end > data_size) {
    throw_corrupt(
        source,
        fmt::format(
            "{} need {} bytes of data, found {} (file of {} bytes); the file is cut short or damaged, "
            "download or copy it again",
            label, tensor.end, data_size, file_size));
  }
}

void check_overlaps(const std::vector<TensorRecord>& sorted, std::string_view source) {
  const TensorRecord* last = nullptr;
  for (const TensorRecord& tensor : sorted) {
    if (tensor.begin == tensor.end) continue;  // empty tensors share no byte with anyone
    if (last != nullptr && tensor.begin < last->end) {
      throw_corrupt(source, fmt::format("tensors {} and {} overlap: data_offsets [{}, {}] and [{}, {}]",
                                        in_quotes(last->name), in_quotes(tensor.name), last->begin, last->end,
                                        tensor.begin, tensor.end));
    }
    last = &tensor;
  }
}

/// The header's JSON text, once its length has been found believable.
std::string_view header_text(std::span<const std::byte> file, std::string_view source) {
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  if (is_lfs_pointer(all)) {
    throw_corrupt(source, "is a git-lfs pointer, not the weights; run \"git lfs pull\" or download the file");
  }
  if (file.size() < kLengthBytes) {
    throw_corrupt(source,
                  fmt::format("has {} bytes, expected a safetensors file (at least 10 bytes)", file.size()));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<std::uint64_t>(file[i]) << (8 * i);
  const std::uint64_t available = file.size() - kLengthBytes;
  if (length < 2) throw_corrupt(source, fmt::format("header length is {}, expected at least 2", length));
  if (length > kMaxSafetensorsHeaderBytes) {
    throw_corrupt(source, fmt::format("header length is {}, expected at most {}; is this a safetensors file?",
                                      length, kMaxSafetensorsHeaderBytes));
  }
  if (length > available) {
    throw_corrupt(
        source,
        fmt::format("header length is {}, but only {} bytes follow; the file is cut short or damaged, "
                    "download or copy it again",
                    length, available));
  }
  return all.substr(kLengthBytes, length);
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, std::string_view source) {
  const std::string_view text = header_text(file, source);
  if (text.front() != '{') {
    throw_corrupt(source, fmt::format("header starts with {}, expected \"{{\"; is this a safetensors file?",
                                      in_quotes(text.substr(0, 1))));
  }
  // The parser takes a zero byte for the end of the text and would ignore what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw_corrupt(source, fmt::format("header {}: zero byte, expected JSON text", text_position(text, zero)));
  }
  HeaderReader reader(text, source);
  Json::sax_parse(text, &reader);

  SafetensorsHeader header;
  header.data_begin = kLengthBytes + text.size();
  header.tensors = std::move(reader.tensors);
  header.metadata = std::move(reader.metadata);
  for (const TensorRecord& tensor : header.tensors)
    check_extent(tensor, header.data_begin, file.size(), source);
  std::sort(header.tensors.begin(), header.tensors.end(), [](const TensorRecord& a, const TensorRecord& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_overlaps(header.tensors, source);
  return header;
}

}  // namespace lanner::io
