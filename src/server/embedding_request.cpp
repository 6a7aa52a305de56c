// SPDX-License-Identifier: MIT
#include "server/embedding_request.h"

#include <fmt/format.h>

#include "server/adapter_fields.h"
#include "server/problem.h"

namespace lanner::server {
namespace {

constexpr std::size_t kMostInputs = 2048;

void check_inputs(const std::vector<PlainPrompt>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool empty = std::visit([](const auto& input) { return input.empty(); }, inputs[i]);
    const std::string at = inputs.size() == 1 ? "input" : fmt::format("input[{}]", i);
    if (empty) refuse_field(at, "invalid_value", at + " is empty");
  }
}

/// Source: "Instruct: {task}\nQuery:{query}" of Qwen3-Embedding's model card.
void instruct(std::vector<PlainPrompt>& inputs, const std::string& instruction) {
  for (PlainPrompt& input : inputs) {
    auto* text = std::get_if<std::string>(&input);
    if (text == nullptr)
      refuse_field("instruction", "unsupported_value", "instruction goes with texts, the input is token ids");
    *text = fmt::format("Instruct: {}\nQuery:{}", instruction, *text);
  }
}

}  // namespace

EmbeddingRequest read_embedding_request(const Json& body, const RequestRules& rules) {
  if (!rules.pooling)
    throw RequestError({.status = 501,
                        .code = "not_supported",
                        .message = "this model makes no embeddings unless the server is started with "
                                   "--embeddings last or --embeddings mean"});
  const JsonFields fields(body);
  EmbeddingRequest embedding;
  const auto model_adapter = check_model(fields.string("model").value_or(std::string()), rules);
  embedding.inputs = read_plain_prompts(fields, "input", rules.vocabulary, kMostInputs);
  check_inputs(embedding.inputs);
  if (const auto instruction = fields.string("instruction")) instruct(embedding.inputs, *instruction);
  if (fields.one_of("encoding_format", {"float", "base64"}) == "base64")
    embedding.encoding = EmbeddingEncoding::kBase64;
  const auto most = static_cast<std::int64_t>(rules.hidden_size);
  if (const auto dimensions = fields.integer("dimensions", {1, most}))
    embedding.dimensions = static_cast<std::size_t>(*dimensions);
  if (fields.flag("truncate")) embedding.long_inputs = LongInputs::kCut;
  (void)fields.find("user");
  read_service(fields, rules, embedding.request);
  read_adapters(fields, rules, model_adapter, embedding.request);
  embedding.request.pooling = rules.pooling;
  embedding.request.prefix.write = false;  // what is embedded is not continued
  if (rules.unknown_fields == UnknownFields::kRefused) fields.refuse_unknown();
  return embedding;
}

}  // namespace lanner::server
