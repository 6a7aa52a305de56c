// SPDX-License-Identifier: MIT
// Any bytes as a safetensors file: accepted ones must describe only bytes of the file, disjoint, of the right
// size.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/error.h"
#include "io/safetensors_header.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  try {
    const lanner::io::SafetensorsHeader header =
        lanner::io::parse_safetensors_header(file, "fuzz.safetensors");
    require(header.data_begin <= size);
    std::uint64_t last_end = 0;
    for (const lanner::io::TensorRecord& tensor : header.tensors) {
      require(tensor.begin <= tensor.end && tensor.end <= size - header.data_begin);
      const auto count = static_cast<std::uint64_t>(tensor.shape.element_count());
      require(tensor.end - tensor.begin == count * lanner::size_bytes(tensor.dtype));
      if (tensor.begin == tensor.end) continue;
      require(tensor.begin >= last_end);
      last_end = tensor.end;
    }
  } catch (const lanner::Error& error) {
    const std::string_view message = error.what();
    require(!message.empty() && message.find('\n') == message.npos);
  }
  return 0;
}
