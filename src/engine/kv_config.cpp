// SPDX-License-Identifier: MIT
#include "engine/kv_config.h"

#include <fmt/format.h>

#include <set>

#include "core/error.h"

namespace lanner::engine {
namespace {

constexpr const char* kFile = "kv_config.json";

device::KvType read_type(const io::Fields& fields) {
  const std::int64_t bits = fields.required_int("bits", {.min = 1, .max = 16});
  const std::int64_t group = fields.optional_int("group_size", 64, io::kPositive);
  if (group == 64 && bits == 8) return device::KvType::kAffine8;
  if (group == 64 && bits == 6) return device::KvType::kAffine6;
  if (group == 64 && bits == 4) return device::KvType::kAffine4;
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("{}: {} asks for {} bits in groups of {}; lanner stores keys and values in 8, 6 or 4 bits "
                  "in groups of 64 (--kv-type overrides the file)",
                  kFile, fields.name_of("bits"), bits, group));
}

}  // namespace

std::map<std::size_t, device::KvType> read_kv_config(const io::Checkpoint& checkpoint,
                                                     const std::vector<cache::LayerSpec>& layers) {
  const auto json = checkpoint.load_kv_config();
  if (!json) return {};
  if (!json->is_array())
    throw Error(
        ErrorKind::kCorrupt,
        fmt::format("{}: the file is {}, expected an array of {{\"layer_idx\", \"bits\", \"group_size\"}}",
                    kFile, io::describe(*json)));
  std::map<std::size_t, device::KvType> types;
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < json->size(); ++i) {
    const std::string path = fmt::format("[{}]", i);
    if (!(*json)[i].is_object())
      throw Error(ErrorKind::kCorrupt,
                  fmt::format("{}: {} is {}, expected an object", kFile, path, io::describe((*json)[i])));
    const io::Fields fields((*json)[i], kFile, path);
    const auto last = static_cast<std::int64_t>(layers.size()) - 1;
    const auto layer = static_cast<std::size_t>(fields.required_int("layer_idx", {.min = 0, .max = last}));
    if (!seen.insert(layer).second)
      throw Error(ErrorKind::kCorrupt, fmt::format("{}: layer {} is listed twice", kFile, layer));
    if (std::holds_alternative<cache::RecurrentSpec>(layers[layer]))
      throw Error(ErrorKind::kCorrupt,
                  fmt::format("{}: {} is {}, a layer that keeps a recurrent state and no keys and values",
                              kFile, fields.name_of("layer_idx"), layer));
    const device::KvType type = read_type(fields);
    if (!std::holds_alternative<cache::SharedSpec>(layers[layer])) types.emplace(layer, type);
  }
  return types;
}

}  // namespace lanner::engine
