// SPDX-License-Identifier: MIT
// Any bytes, two by two, as ids of both families: what has been streamed is well-formed, never taken back,
// and in the end the text of decode(). The same bytes as text: encoding and decoding gives it back.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/detokenizer.h"

namespace {

using lanner::TokenId;
using lanner::text::Detokenizer;
using lanner::text::Tokenizer;

void check_stream(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  Detokenizer detokenizer(tokenizer);
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    detokenizer.push(ids[i], text);
    if (i % 8 == 7 && text + Detokenizer(detokenizer).finish() != tokenizer.decode(ids.first(i + 1)))
      std::abort();
  }
  if (lanner::text::find_invalid_utf8(text) != text.npos) std::abort();
  if (text + detokenizer.finish() != tokenizer.decode(ids)) std::abort();
}

/// The vocabulary's small ids first, where Gemma keeps its byte tokens.
std::vector<TokenId> ids_from(std::span<const std::uint8_t> data) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i + 1 < data.size(); i += 2) {
    const TokenId high = data[i] & 0x1F, low = data[i + 1];
    ids.push_back((data[i] & 0x80) != 0 ? 200 + high * 8 + (low & 0xFF) : high * 256 + low);
  }
  return ids;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string models = LANNER_MODELS_DIR;
  static const Tokenizer gemma = Tokenizer::load(models + "/tale-gemma4/tokenizer.json");
  static const Tokenizer qwen = Tokenizer::load(models + "/tale-qwen3_5/tokenizer.json");
  const std::vector<TokenId> ids = ids_from({data, size});
  check_stream(gemma, ids);
  check_stream(qwen, ids);

  const std::string text = lanner::text::to_valid_utf8({reinterpret_cast<const char*>(data), size});
  const std::string again = qwen.decode(qwen.encode(text));
  if (qwen.decode(qwen.encode(again)) != again) std::abort();  // the first time may compose characters
  if (text.find("\u2581") == text.npos && gemma.decode(gemma.encode(text)) != text) {
    // Byte tokens spelled out in text are added tokens or pieces of text; only the fallback itself makes
    // bytes.
    if (text.find("<0x") == text.npos) std::abort();
  }
  return 0;
}
