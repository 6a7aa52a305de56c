// SPDX-License-Identifier: MIT
#include "models/weight_loader.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/error.h"
#include "core/float_convert.h"

namespace lanner::models {
namespace {

using device::WeightFormat;
using device::WeightSpec;
using io::TensorEntry;

constexpr std::array<std::string_view, 4> kPrefixes = {"model.language_model.", "language_model.model.",
                                                       "model.", ""};
// An untied head stands outside the text model's prefix.
constexpr std::array<std::string_view, 4> kHeadPrefixes = {"", "language_model.", "model.language_model.",
                                                           "model."};

bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

std::string find_prefix(const io::Checkpoint& checkpoint) {
  for (std::string_view prefix : kPrefixes)
    if (checkpoint.find(fmt::format("{}embed_tokens.weight", prefix)) != nullptr) return std::string(prefix);
  throw Error(
      ErrorKind::kCorrupt,
      fmt::format("{}: no tensor \"model.language_model.embed_tokens.weight\" (nor \"language_model.model.\" "
                  "or \"model.\" + \"embed_tokens.weight\"); the folder holds no text model",
                  checkpoint.folder().string()));
}

float element_as_float(const std::byte* data, DType dtype, std::size_t index) {
  if (dtype == DType::kF32) {
    float value = 0;
    std::memcpy(&value, data + index * sizeof(value), sizeof(value));
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, data + index * sizeof(bits), sizeof(bits));
  return dtype == DType::kBF16 ? bf16_to_float(bits) : f16_to_float(bits);
}

/// Shape of a per-group table next to a matrix of this shape.
Shape with_columns(const Shape& shape, std::size_t columns) {
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents.back() = static_cast<std::int64_t>(columns);
  return Shape(extents);
}

bool is_legal(const WeightSpec& spec) {
  const auto one_of = [](int value, std::initializer_list<int> legal) {
    return std::find(legal.begin(), legal.end(), value) != legal.end();
  };
  return one_of(spec.bits, {2, 3, 4, 5, 6, 8}) && one_of(spec.group, {32, 64, 128});
}

std::optional<WeightSpec> fp_spec(int bits, int group) {
  if (bits == 4 && group == 32) return WeightSpec{WeightFormat::kMxfp4, DType::kU8, 4, 32};
  if (bits == 8 && group == 32) return WeightSpec{WeightFormat::kMxfp8, DType::kU8, 8, 32};
  if (bits == 4 && group == 16) return WeightSpec{WeightFormat::kNvfp4, DType::kU8, 4, 16};
  return std::nullopt;
}

/// The memory of a matrix, the same for its copies.
const void* identity(const device::Matrix& matrix) {
  return matrix.tiled() != nullptr ? static_cast<const void*>(matrix.tiled()) : matrix.view().data;
}

std::string_view mode_name(WeightFormat format) {
  switch (format) {
    case WeightFormat::kDense:
      return "dense";
    case WeightFormat::kAffine:
      return "affine";
    case WeightFormat::kMxfp4:
      return "mxfp4";
    case WeightFormat::kMxfp8:
      return "mxfp8";
    case WeightFormat::kNvfp4:
      return "nvfp4";
  }
  return "?";
}

}  // namespace

WeightLoader::WeightLoader(const io::Checkpoint& checkpoint, const LoadTarget& target, WeightStorage& storage)
    : checkpoint_(checkpoint),
      target_(target),
      storage_(storage),
      quantization_(QuantizationConfig::read(checkpoint.config_fields())),
      prefix_(find_prefix(checkpoint)) {
  for (const TensorEntry& entry : checkpoint.tensors()) {
    files_.insert(entry.file);
    total_bytes_ += entry.bytes.size();
  }
}

const TensorEntry* WeightLoader::find(std::string_view name) const {
  if (name.starts_with("lm_head")) {
    for (std::string_view prefix : kHeadPrefixes)
      if (const TensorEntry* entry = checkpoint_.find(fmt::format("{}{}", prefix, name))) return entry;
    return nullptr;
  }
  return checkpoint_.find(prefix_ + std::string(name));
}

const TensorEntry& WeightLoader::use(std::string_view name) {
  const TensorEntry* entry = find(name);
  if (entry == nullptr)
    return checkpoint_.require(prefix_ + std::string(name));  // throws, naming what is there
  used_.insert(entry->name);
  return *entry;
}

WeightLoader::Triple WeightLoader::find_module(std::string_view path) {
  // Stacked experts carry no ".weight" in the Hugging Face layout.
  const std::string named = fmt::format("{}.weight", path);
  Triple triple{.weight = &use(has(named) || !has(path) ? std::string_view(named) : path)};
  if (has(fmt::format("{}.scales", path))) triple.scales = &use(fmt::format("{}.scales", path));
  if (has(fmt::format("{}.biases", path))) triple.biases = &use(fmt::format("{}.biases", path));
  return triple;
}

WeightSpec WeightLoader::spec_of(const Triple& triple, std::string_view path, std::size_t in) const {
  const TensorEntry& weight = *triple.weight;
  if (triple.scales != nullptr) return quantized_spec(triple, path, in);
  if (quantization_.lists(path) && quantization_.of(path).quantized)
    throw io::tensor_error(weight,
                           fmt::format("has no \"{}.scales\" beside it, though config.json gives this module "
                                       "a quantization of its own",
                                       path));
  if (!is_float(weight.dtype))
    throw io::tensor_error(
        weight,
        fmt::format("has type {} and no \"{}.scales\" beside it, expected F32, F16 or BF16, or a quantized "
                    "module (U32 weight with scales)",
                    name(weight.dtype), path));
  return {WeightFormat::kDense, weight.dtype, static_cast<int>(8 * size_bytes(weight.dtype)), 0};
}

WeightSpec WeightLoader::quantized_spec(const Triple& triple, std::string_view path, std::size_t in) const {
  const TensorEntry& weight = *triple.weight;
  const TensorEntry& scales = *triple.scales;
  const ModuleQuantization said = quantization_.of(path);
  if (!said.quantized)
    throw io::tensor_error(scales, "exists, though config.json says this module is not quantized");
  if (weight.dtype != DType::kU32)
    throw io::tensor_error(weight,
                           fmt::format("has type {}, expected U32 (packed codes)", name(weight.dtype)));
  if (weight.shape.rank() < 2 || scales.shape.rank() != weight.shape.rank())
    throw io::tensor_error(scales,
                           fmt::format("has shape {} beside a weight of shape {}, expected as many axes",
                                       to_string(scales.shape), to_string(weight.shape)));
  const auto words = static_cast<std::size_t>(weight.shape.back());
  const auto groups = static_cast<std::size_t>(scales.shape.back());
  if (groups == 0 || words * 32 % in != 0 || in % groups != 0)
    throw io::tensor_error(weight,
                           fmt::format("has {} words and {} scales a row, which do not divide the {} columns "
                                       "that config.json gives this module",
                                       words, groups, in));
  const int bits = static_cast<int>(words * 32 / in);
  const int group = static_cast<int>(in / groups);
  const bool fp = scales.dtype == DType::kU8;
  const WeightSpec spec = fp ? fp_spec(bits, group).value_or(WeightSpec{.bits = 0})
                             : WeightSpec{WeightFormat::kAffine, scales.dtype, bits, group};
  if (spec.bits == 0 || (!fp && (!is_legal(spec) || !is_float(scales.dtype))))
    throw io::tensor_error(weight,
                           fmt::format("is packed as {} bits in groups of {} with scales of type {}; lanner "
                                       "reads 2, 3, 4, 5, 6 and 8 bits in groups of 32, 64 and 128 with "
                                       "float scales, and mxfp4, mxfp8, nvfp4 with U8 scales",
                                       bits, group, name(scales.dtype)));
  if ((said.bits && *said.bits != bits) || (said.group && *said.group != group))
    throw io::tensor_error(
        weight, fmt::format("is packed as {} bits in groups of {}, config.json's quantization says "
                            "{} bits in groups of {}",
                            bits, group, said.bits.value_or(bits), said.group.value_or(group)));
  if (fp && said.mode && *said.mode != "affine" && *said.mode != mode_name(spec.format))
    throw io::tensor_error(weight, fmt::format("is packed as {}, config.json's quantization says {}",
                                               mode_name(spec.format), *said.mode));
  return spec;
}

void WeightLoader::check_shapes(const Triple& triple, const WeightSpec& spec, const Shape& shape,
                                std::string_view why) const {
  const auto columns = static_cast<std::size_t>(shape.back());
  if (spec.format == WeightFormat::kDense) {
    io::expect_shape(*triple.weight, shape, why);
    return;
  }
  const Shape table = with_columns(shape, columns / static_cast<std::size_t>(spec.group));
  io::expect_shape(*triple.weight, with_columns(shape, columns * static_cast<std::size_t>(spec.bits) / 32),
                   why);
  io::expect_shape(*triple.scales, table, why);
  if (spec.format != WeightFormat::kAffine) {
    if (triple.biases != nullptr)
      throw io::tensor_error(*triple.biases,
                             fmt::format("does not belong to {} weights", mode_name(spec.format)));
    return;
  }
  if (triple.biases == nullptr)
    throw io::tensor_error(*triple.scales, "has no biases beside it, which affine quantization needs");
  io::expect_shape(*triple.biases, table, why);
  if (triple.biases->dtype != triple.scales->dtype)
    throw io::tensor_error(*triple.biases,
                           fmt::format("has type {}, its scales have {}", name(triple.biases->dtype),
                                       name(triple.scales->dtype)));
}

const void* WeightLoader::place_bytes(const TensorEntry& entry, Owners& owners) {
  Memory& memory = *target_.ops.memory;
  if (memory.kind() == DeviceKind::kCpu) {
    if (target_.use == WeightUse::kPlan) return entry.bytes.data();
    io::HeldTensor held = io::load_tensor(entry);
    owners.push_back(held.owner);
    return held.tensor.data;
  }
  // Kernels read whole vectors, so the last one may reach past the last row.
  constexpr std::size_t kSlackBytes = 256;
  const auto buffer = std::make_shared<Buffer>(entry.bytes.size() + kSlackBytes, memory);
  memory.upload(buffer->data(), entry.bytes.data(), entry.bytes.size());
  owners.push_back(buffer);
  return buffer->data();
}

device::WeightView WeightLoader::view_of(const Triple& triple, const WeightSpec& spec, std::size_t rows,
                                         std::size_t in, Owners& owners) {
  const auto place = [&](const TensorEntry* entry) {
    return entry == nullptr ? nullptr : place_bytes(*entry, owners);
  };
  device::WeightView view{.spec = spec, .rows = rows, .columns = in};
  view.data = place(triple.weight);
  view.scales = place(triple.scales);
  view.biases = place(triple.biases);
  return view;
}

device::Matrix WeightLoader::bind(const device::WeightView& view, std::shared_ptr<const void> owner) const {
  device::Matrix matrix(view, std::move(owner), target_.ops.isa);
  if (target_.ops.tile != nullptr)
    if (auto tiled = target_.ops.tile(target_.ops, view, target_.compute)) matrix.set_tiled(std::move(tiled));
  return matrix;
}

void WeightLoader::record(std::string_view path, const WeightSpec& spec, std::size_t rows, std::size_t in) {
  modules_.push_back({std::string(path), spec, rows * in, device::weight_bytes(spec, rows, in)});
  recorded_bytes_ = std::min(recorded_bytes_ + modules_.back().size_bytes, total_bytes_);
  if (target_.progress)
    target_.progress(static_cast<double>(recorded_bytes_) / static_cast<double>(total_bytes_));
}

device::Matrix WeightLoader::matrix(std::string_view path, std::size_t out, std::size_t in,
                                    std::string_view why) {
  device::Matrix table = find_matrix(path, out, in, why);
  (is_on_host() ? memory_.lookup_bytes : memory_.owned_bytes) += table.size_bytes();
  lookups_.insert(identity(table));
  return table;
}

device::Matrix WeightLoader::find_matrix(std::string_view path, std::size_t out, std::size_t in,
                                         std::string_view why) {
  const Triple triple = find_module(path);
  const WeightSpec spec = spec_of(triple, path, in);
  check_shapes(triple, spec, {static_cast<std::int64_t>(out), static_cast<std::int64_t>(in)}, why);
  record(path, spec, out, in);
  Owners owners;
  const device::WeightView view = view_of(triple, spec, out, in, owners);
  return bind(view, std::make_shared<const Owners>(std::move(owners)));
}

template <typename Body>
void WeightLoader::for_mapped_parts(const device::WeightView& view, Body&& body) const {
  const std::size_t codes = view.rows * view.columns * static_cast<std::size_t>(view.spec.bits) / 8;
  const std::size_t all = device::weight_bytes(view.spec, view.rows, view.columns);
  const std::size_t tables = view.biases == nullptr ? 1 : 2;
  for (const auto& [data, size] :
       {std::pair{view.data, codes}, std::pair{view.scales, (all - codes) / tables},
        std::pair{view.biases, (all - codes) / tables}}) {
    const std::span part(static_cast<const std::byte*>(data), size);
    for (const auto& file : files_) {
      const std::span whole = file->bytes();
      const bool inside = std::less_equal<>()(whole.data(), part.data()) &&
                          std::less_equal<>()(part.data() + size, whole.data() + whole.size());
      if (data != nullptr && inside) body(*file, part);
    }
  }
}

void WeightLoader::with_all_threads(const device::WeightView& view, PagesFn pages) const {
  for_mapped_parts(view, [&](const io::MappedFile& file, std::span<const std::byte> part) {
    target_.pool.split(part.size(), std::size_t{1} << 16, [&](std::size_t begin, std::size_t end, int) {
      (file.*pages)(part.subspan(begin, end - begin));
    });
  });
}

device::Matrix WeightLoader::sparse_table(std::string_view path, std::size_t out, std::size_t in,
                                          std::string_view why) {
  device::Matrix table = matrix(path, out, in, why);
  for_mapped_parts(table.view(), [](const io::MappedFile& file, std::span<const std::byte> part) {
    file.advise(part, io::Access::kRandom);
  });
  return table;
}

device::Matrix WeightLoader::for_products(device::Matrix matrix) {
  const bool plans = target_.use == WeightUse::kPlan;
  if (target_.compute == device::Compute::kInt8) {
    if (!plans && matrix.packs(target_.ops.isa)) with_all_threads(matrix.view(), &io::MappedFile::populate);
    if (plans)
      matrix.plan_packed(target_.ops.isa);
    else
      matrix.pack(target_.ops.isa, target_.pool);
  }
  if (const device::PackedMatrix* packed = matrix.packed()) {
    memory_.owned_bytes += packed->size_bytes();
    if (!plans) with_all_threads(matrix.view(), &io::MappedFile::release);
    return matrix;
  }
  const bool counted = lookups_.contains(identity(matrix));
  if (is_on_host()) {
    memory_.mapped_bytes += matrix.size_bytes();
    if (counted) memory_.lookup_bytes -= matrix.size_bytes();
  } else if (!counted) {
    memory_.owned_bytes += matrix.size_bytes();
  }
  return matrix;
}

layers::Linear WeightLoader::linear(std::string_view path, std::size_t out, std::size_t in,
                                    std::string_view why) {
  device::Matrix matrix = for_products(find_matrix(path, out, in, why));
  if (!path.starts_with("layers.")) return layers::Linear(std::move(matrix));
  targets_.push_back({std::string(path), out, in});
  return layers::Linear(std::move(matrix), targets_.size() - 1);
}

std::vector<device::Matrix> WeightLoader::expert_rows(std::string_view path, std::size_t count,
                                                      std::size_t stacked_out, std::size_t begin,
                                                      std::size_t out, std::size_t in, std::string_view why) {
  const Triple triple = find_module(path);
  const WeightSpec spec = spec_of(triple, path, in);
  check_shapes(triple, spec,
               {static_cast<std::int64_t>(count), static_cast<std::int64_t>(stacked_out),
                static_cast<std::int64_t>(in)},
               why);
  record(path, spec, count * out, in);
  Owners owners;
  const device::WeightView stack = view_of(triple, spec, count * stacked_out, in, owners);
  const auto owner = std::make_shared<const Owners>(std::move(owners));
  std::vector<device::Matrix> matrices;
  for (std::size_t e = 0; e < count; ++e) {
    const std::size_t first = e * stacked_out + begin;
    matrices.push_back(for_products(bind(device::weight_rows(stack, first, first + out), owner)));
  }
  return matrices;
}

std::vector<device::Matrix> WeightLoader::experts(std::string_view path, std::size_t count, std::size_t out,
                                                  std::size_t in, std::string_view why) {
  return expert_rows(path, count, out, 0, out, in, why);
}

std::vector<device::Matrix> WeightLoader::separate_experts(std::string_view prefix, std::string_view suffix,
                                                           std::size_t count, std::size_t out, std::size_t in,
                                                           std::string_view why) {
  std::vector<device::Matrix> matrices;
  for (std::size_t e = 0; e < count; ++e) {
    const std::string path = fmt::format("{}.{}.{}", prefix, e, suffix);
    const Triple triple = find_module(path);
    const WeightSpec spec = spec_of(triple, path, in);
    check_shapes(triple, spec, {static_cast<std::int64_t>(out), static_cast<std::int64_t>(in)}, why);
    if (e > 0 && spec != matrices.front().view().spec)
      throw io::tensor_error(*triple.weight, "is stored in another format than expert 0 of its layer");
    Owners owners;
    const device::WeightView view = view_of(triple, spec, out, in, owners);
    matrices.push_back(for_products(bind(view, std::make_shared<const Owners>(std::move(owners)))));
  }
  record(fmt::format("{}.*.{}", prefix, suffix), matrices.front().view().spec, count * out, in);
  return matrices;
}

Tensor WeightLoader::allocate(const Shape& shape) {
  storage_.emplace_back(static_cast<std::size_t>(shape.element_count()) * sizeof(float));
  memory_.owned_bytes += storage_.back().size_bytes();
  return {storage_.back().data(), DType::kF32, shape, DeviceKind::kCpu};
}

Tensor WeightLoader::floats(std::string_view name, const Shape& shape, std::string_view why) {
  const TensorEntry& entry = use(name);
  if (!is_float(entry.dtype))
    throw io::tensor_error(entry,
                           fmt::format("has type {}, expected F32, F16 or BF16", lanner::name(entry.dtype)));
  io::expect_shape(entry, shape, why);
  const Tensor values = allocate(shape);
  const auto out = values.floats();
  if (target_.use == WeightUse::kRun)
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = element_as_float(entry.bytes.data(), entry.dtype, i);
  else
    std::ranges::fill(out, 0.0F);
  const WeightSpec spec{WeightFormat::kDense, entry.dtype, static_cast<int>(8 * size_bytes(entry.dtype)), 0};
  record(name, spec, 1, out.size());
  return values;
}

Tensor WeightLoader::place(const Tensor& weight) {
  Memory& memory = *target_.ops.memory;
  if (memory.kind() == DeviceKind::kCpu) return weight;
  storage_.emplace_back(weight.size_bytes(), memory);
  memory.upload(storage_.back().data(), weight.data, weight.size_bytes());
  return {storage_.back().data(), weight.dtype, weight.shape, memory.kind()};
}

void WeightLoader::ignore(std::string_view prefix) {
  const std::string full = prefix_ + std::string(prefix);
  for (const TensorEntry& entry : checkpoint_.tensors())
    if (std::string_view(entry.name).starts_with(full)) used_.insert(entry.name);
}

std::vector<std::string> WeightLoader::leftovers() const {
  std::vector<std::string> names;
  for (const TensorEntry& entry : checkpoint_.tensors())
    if (!used_.contains(entry.name)) names.push_back(entry.name);
  return names;
}

}  // namespace lanner::models
