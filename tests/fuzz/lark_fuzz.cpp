// SPDX-License-Identifier: MIT
#include "fuzz_grammar.h"
#include "text/grammar/lark.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lanner::fuzz::try_grammar([&](const auto& vocabulary) {
    return lanner::text::grammar::parse_lark({reinterpret_cast<const char*>(data), size}, vocabulary);
  });
  return 0;
}
