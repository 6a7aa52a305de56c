// SPDX-License-Identifier: MIT
#include "fuzz_grammar.h"
#include "text/bounded_json.h"
#include "text/grammar/json_schema.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto schema = lanner::text::parse_bounded_json({reinterpret_cast<const char*>(data), size});
  if (!schema) return 0;
  lanner::fuzz::try_grammar([&](const auto&) { return lanner::text::grammar::json_schema_grammar(*schema); });
  return 0;
}
