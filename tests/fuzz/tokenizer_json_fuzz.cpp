// SPDX-License-Identifier: MIT
// Any bytes as tokenizer.json: a tokenizer or an Error of one line. What loads must encode and decode without
// harm, and a stream of tokens must give the text that decode() gives.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "text/detokenizer.h"

namespace {

using lanner::TokenId;
using lanner::text::Tokenizer;

constexpr std::string_view kTexts[] = {
    "", " ", "abc  abd\n\n a1 22.", "it's <s><|x|> \u00e9e\u0301 \u6f22\u2581 <s>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

void check_stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  lanner::text::Detokenizer detokenizer(tokenizer);
  std::string text;
  for (TokenId id : ids) detokenizer.push(id, text);
  detokenizer.finish(text);
  if (text != tokenizer.decode(ids)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Tokenizer tokenizer = Tokenizer::parse({reinterpret_cast<const char*>(data), size});
    for (std::string_view text : kTexts) {
      check_stream(tokenizer, tokenizer.encode(text, {.surround = lanner::text::Surround::kPostProcessor}));
      check_stream(tokenizer, tokenizer.encode(text, {.literal = {{text.size() / 3, text.size() / 2}}}));
    }
  } catch (const lanner::Error& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.find('\n') != message.npos) std::abort();
  }
  return 0;
}
