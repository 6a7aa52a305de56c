// SPDX-License-Identifier: MIT
#include "engine/state_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/xxhash64.h"
#include "io/atomic_file.h"
#include "io/fields.h"
#include "io/mapped_file.h"

namespace lanner::engine {
namespace {

constexpr std::string_view kMagic = "LANKV001";
constexpr std::size_t kPreambleBytes = 20;  // magic, u32 header length, u64 header checksum
constexpr std::size_t kAlignment = 16384;
constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 28;

std::size_t aligned(std::size_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

/// Layers of a snapshot with the bytes of each that are content.
struct Content {
  std::vector<cache::SavedLayer> layers;
  std::vector<std::vector<std::byte>> bytes;
};

Content content_of(const cache::SequenceCache& sequence, Memory& memory) {
  Content content{.layers = sequence.saved(), .bytes = {}};
  for (std::size_t index = 0; index < content.layers.size(); ++index) {
    const std::vector<std::size_t>& sizes = content.layers[index].content_bytes;
    std::size_t total = 0;
    for (const std::size_t size : sizes) total += size;
    std::vector<std::byte>& bytes = content.bytes.emplace_back(total);
    std::byte* to = bytes.data();
    for (std::size_t block = 0; block < sizes.size(); ++block) {
      memory.download(to, content.layers[index].blocks[block]->data(), sizes[block]);
      to += sizes[block];
    }
  }
  return content;
}

io::Json header_of(const cache::PrefixKey& key, std::span<const TokenId> ids, const Content& content) {
  io::Json layers = io::Json::array();
  std::size_t offset = 0;  // from the first aligned byte after the header
  for (std::size_t index = 0; index < content.layers.size(); ++index) {
    layers.push_back({{"entries", content.layers[index].entries},
                      {"offset", offset},
                      {"bytes", content.bytes[index].size()},
                      {"xxh64", hex(xxhash64(content.bytes[index]))}});
    offset = aligned(offset + content.bytes[index].size());
  }
  return {{"format", 1},
          {"model", key.model},
          {"kv_types", key.kv_types},
          {"adapters", key.adapters},
          {"tokens", std::vector<TokenId>(ids.begin(), ids.end())},
          {"layers", layers}};
}

Error corrupt(std::string_view source, const std::string& what) {
  return Error(ErrorKind::kCorrupt, fmt::format("{}: {}", source, what));
}

/// The header's text, checked against its checksum.
std::string_view header_text(std::span<const std::byte> file, std::string_view source) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic))
    throw corrupt(source, "not a saved state of this version, it does not begin with " + std::string(kMagic));
  if (file.size() < kPreambleBytes) throw corrupt(source, "the file ends inside its preamble");
  std::uint32_t length = 0;
  std::uint64_t checksum = 0;
  std::memcpy(&length, file.data() + kMagic.size(), sizeof length);
  std::memcpy(&checksum, file.data() + kMagic.size() + sizeof length, sizeof checksum);
  if (length > kMaxHeaderBytes || length > file.size() - kPreambleBytes)
    throw corrupt(source, fmt::format("the header should have {} bytes, {} follow", length,
                                      file.size() - kPreambleBytes));
  if (xxhash64(file.subspan(kPreambleBytes, length)) != checksum)
    throw corrupt(source, "the header is damaged, its checksum differs");
  return text.substr(kPreambleBytes, length);
}

/// What is between two parts of a file is zeros, so that no damage goes unseen.
void check_padding(std::span<const std::byte> file, std::size_t from, std::size_t to,
                   std::string_view source) {
  if (to < from) throw corrupt(source, "its layers overlap");
  const auto padding = file.subspan(from, to - from);
  if (std::ranges::any_of(padding, [](std::byte b) { return b != std::byte{0}; }))
    throw corrupt(source, fmt::format("the padding from byte {} on is damaged", from));
}

void check_same(const io::Fields& header, std::string_view field, const std::string& expected,
                std::string_view meaning) {
  const std::string found = header.required_string(field);
  if (found != expected)
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: saved with {} \"{}\", this one has \"{}\"",
                                                         header.source(), meaning, found, expected));
}

/// Reads one layer's blocks.
class LayerReader {
 public:
  LayerReader(std::span<const std::byte> data, const cache::CacheSpec& spec, const cache::BlockPool& pool,
              std::size_t length)
      : data_(data), spec_(spec), pool_(pool), length_(length) {}

  cache::SavedLayer read(std::size_t index, const io::Fields& fields) const {
    cache::SavedLayer layer;
    layer.entries = static_cast<std::size_t>(fields.required_int("entries", {.min = 0, .max = 64}));
    if (!cache::entries_fit(spec_.layers[index], length_, layer.entries))
      throw fields.unexpected("entries",
                              fmt::format("what a layer of its kind has after {} positions", length_));
    const auto sizes = cache::saved_block_bytes(spec_, index, length_, layer.entries);
    std::size_t total = 0;
    for (const std::size_t size : sizes) total += size;
    if (static_cast<std::size_t>(fields.required_int("bytes", io::kNotNegative)) != total)
      throw fields.unexpected("bytes", fmt::format("{}", total));
    const auto offset = static_cast<std::size_t>(fields.required_int("offset", io::kNotNegative));
    if (offset > data_.size() || total > data_.size() - offset)
      throw corrupt(fields.source(), fmt::format("layer {} ends {} bytes after the end of the file", index,
                                                 offset + total - data_.size()));
    std::span<const std::byte> bytes = data_.subspan(offset, total);
    if (hex(xxhash64(bytes)) != fields.required_string("xxh64"))
      throw corrupt(fields.source(), fmt::format("layer {} is damaged, its checksum differs", index));
    for (const std::size_t size : sizes) {
      layer.blocks.push_back(pool_.take(size));
      pool_.memory().upload(layer.blocks.back()->data(), bytes.data(), size);
      bytes = bytes.subspan(size);
    }
    return layer;
  }

 private:
  std::span<const std::byte> data_;
  const cache::CacheSpec& spec_;
  const cache::BlockPool& pool_;
  std::size_t length_;
};

}  // namespace

StateImage state_image(const cache::PrefixKey& key, const StateToSave& state) {
  const auto& [ids, sequence, memory] = state;
  if (sequence.length() != ids.size())
    throw Error(ErrorKind::kInternal, fmt::format("a state of {} positions was to be saved with {} tokens",
                                                  sequence.length(), ids.size()));
  Content content = content_of(sequence, memory);
  return {.header = header_of(key, ids, content).dump(),
          .layers = std::move(content.bytes),
          .tokens = ids.size()};
}

std::size_t StateImage::size_bytes() const {
  std::size_t size = kPreambleBytes + header.size();
  for (const std::vector<std::byte>& bytes : layers) size = aligned(size) + bytes.size();
  return size;
}

void write_state(const std::filesystem::path& file, const StateImage& image) {
  const std::string& header = image.header;
  const auto length = static_cast<std::uint32_t>(header.size());
  const std::uint64_t checksum = xxhash64(std::as_bytes(std::span(header)));
  io::AtomicFile out(file);
  out.append(kMagic);
  out.append(std::as_bytes(std::span(&length, 1)));
  out.append(std::as_bytes(std::span(&checksum, 1)));
  out.append(header);
  const std::vector<std::byte> zeros(kAlignment);
  std::size_t written = kPreambleBytes + header.size();
  for (const std::vector<std::byte>& bytes : image.layers) {
    out.append(std::span(zeros).first(aligned(written) - written));
    out.append(bytes);
    written = aligned(written) + bytes.size();
  }
  out.commit();
}

void save_state(const std::filesystem::path& file, const cache::PrefixKey& key, const StateToSave& state) {
  write_state(file, state_image(key, state));
}

SavedState parse_state(std::span<const std::byte> file, std::string_view source, const cache::PrefixKey& key,
                       const cache::CacheSpec& spec, const cache::BlockPool& pool) {
  const std::string_view text = header_text(file, source);
  const io::Json json = io::parse_json(text, source);
  if (!json.is_object())
    throw corrupt(source, "the header is " + io::describe(json) + ", expected an object");
  const io::Fields header(json, std::string(source));
  header.required_int("format", {.min = 1, .max = 1});
  check_same(header, "model", key.model, "model");
  check_same(header, "kv_types", key.kv_types, "keys and values stored as");
  check_same(header, "adapters", key.adapters, "adapters");
  const std::vector<std::int64_t> tokens = header.required_ints("tokens", {.min = 0, .max = 0x7fffffff});
  const std::vector<io::Fields> records = header.required_objects("layers");
  if (records.size() != spec.layers.size())
    throw corrupt(source,
                  fmt::format("it holds {} layers, the model has {}", records.size(), spec.layers.size()));
  const std::size_t data_begin = std::min(file.size(), aligned(kPreambleBytes + text.size()));
  const LayerReader reader(file.subspan(data_begin), spec, pool, tokens.size());
  std::vector<cache::SavedLayer> layers;
  std::size_t end = kPreambleBytes + text.size();
  for (std::size_t index = 0; index < records.size(); ++index) {
    layers.push_back(reader.read(index, records[index]));
    const auto offset = static_cast<std::size_t>(records[index].required_int("offset", io::kNotNegative));
    check_padding(file, end, data_begin + offset, source);
    end = data_begin + offset +
          static_cast<std::size_t>(records[index].required_int("bytes", io::kNotNegative));
  }
  if (file.size() != end)
    throw corrupt(source, fmt::format("{} bytes follow the last layer", file.size() - end));
  return {.ids = {tokens.begin(), tokens.end()},
          .cache = cache::SequenceCache::restored(spec, pool, tokens.size(), std::move(layers))};
}

SavedState load_state(const std::filesystem::path& file, const cache::PrefixKey& key,
                      const cache::CacheSpec& spec, const cache::BlockPool& pool) {
  const io::MappedFile mapped(file);
  return parse_state(mapped.bytes(), file.filename().string(), key, spec, pool);
}

}  // namespace lanner::engine
