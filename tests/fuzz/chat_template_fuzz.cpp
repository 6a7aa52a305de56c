// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "text/chat_template.h"

/// The input is a template; it is rendered with a small conversation under tight limits.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Json = nlohmann::ordered_json;
  static const Json kVariables = Json::parse(R"({
    "n": 3, "f": 1.5, "s": "a\u00e9<b>", "l": [1, "x", [2]], "d": {"a": 1, "b": {"c": [true, null]}},
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo", "tool_calls": []}]})");
  lanner::text::jinja::Limits limits;
  limits.max_steps = 20000;
  limits.max_text_bytes = 1 << 16;
  try {
    const lanner::text::jinja::Template compiled(std::string_view(reinterpret_cast<const char*>(data), size));
    compiled.render({Json{{"bos_token", "<s>"}}, kVariables, 1}, limits);
  } catch (const lanner::Error&) {
  }
  return 0;
}
