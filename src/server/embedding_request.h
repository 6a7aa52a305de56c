// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/completion_request.h"

namespace lanner::server {

/// How the numbers of an embedding are written.
enum class EmbeddingEncoding : std::uint8_t {
  kNumbers,
  kBase64,  ///< of little-endian float32
};

/// What happens to inputs that are longer than the context.
enum class LongInputs : std::uint8_t { kRefused, kCut };

/// Texts to embed.
struct EmbeddingRequest {
  std::vector<PlainPrompt> inputs = {};
  engine::Request request = {};  ///< of each input, without its prompt
  EmbeddingEncoding encoding = EmbeddingEncoding::kNumbers;
  std::size_t dimensions = 0;  ///< the first so many, scaled to length 1 again; 0 = all
  LongInputs long_inputs = LongInputs::kRefused;
};

/// Reads the body of /v1/embeddings. An `instruction` is put in front of texts as Qwen3-Embedding's queries
/// have it. Throws RequestError; 501 where the server makes no embeddings.
EmbeddingRequest read_embedding_request(const Json& body, const RequestRules& rules);

}  // namespace lanner::server
