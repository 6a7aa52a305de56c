// SPDX-License-Identifier: MIT
// Any bytes as a saved state: either an error in one line, or a sequence as long as its tokens. The input
// chooses the header's text; checksums are made right, or they would keep everything else out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/error.h"
#include "core/xxhash64.h"
#include "engine/state_file.h"

namespace {

using namespace lanner;

void require(bool condition) {
  if (!condition) std::abort();
}

const cache::CacheSpec kSpec = {
    .layers = {cache::FullSpec{1, 4}, cache::SlidingSpec{1, 4, 100}, cache::SharedSpec{.donor = 1},
               cache::RecurrentSpec{
                   .taps = 4, .key_heads = 1, .value_heads = 1, .key_dim = 4, .value_dim = 4}},
    .kv_type = device::KvType::kAffine4};

void parse(std::span<const std::byte> file) {
  try {
    const engine::SavedState state =
        engine::parse_state(file, "fuzz.state", {}, kSpec, cache::BlockPool(std::size_t{64} << 20));
    require(state.cache.length() == state.ids.size());
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(!message.empty() && message.find('\n') == message.npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  parse(input);
  std::string file = "LANKV001";
  const auto length = static_cast<std::uint32_t>(size);
  const std::uint64_t checksum = xxhash64(input);
  file.append(reinterpret_cast<const char*>(&length), sizeof length);
  file.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  file.append(reinterpret_cast<const char*>(data), size);
  file.resize((file.size() + 16383) / 16384 * 16384 + 65536);
  parse(std::as_bytes(std::span(file)));
  return 0;
}
