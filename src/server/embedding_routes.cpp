// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "server/adapter_fields.h"
#include "server/base64.h"
#include "server/embedding_request.h"
#include "server/generation_plan.h"
#include "server/problem.h"
#include "server/prompt.h"
#include "server/prompt_session.h"
#include "server/routes.h"

namespace lanner::server {
namespace {

/// One input's tokens, within the context.
std::vector<TokenId> input_tokens(const Service::Call& call, const PlainPrompt& input,
                                  LongInputs long_inputs) {
  std::vector<TokenId> ids;
  if (const auto* given = std::get_if<std::vector<TokenId>>(&input))
    ids = *given;
  else
    ids = encode_text(call.served->model->text(), std::get<std::string>(input), BeginningTokens::kAdd);
  const std::size_t most = call.served->rules.context - 1;
  if (long_inputs == LongInputs::kCut && ids.size() > most) ids.resize(most);
  return ids;
}

/// Before any of the inputs is computed.
void check_length(std::size_t tokens, std::size_t input, const Service::Call& call) {
  const std::size_t context = call.served->rules.context;
  if (tokens < context) return;
  refuse_field(fmt::format("input[{}]", input), "context_length_exceeded",
               fmt::format("input {} has {} tokens, expected fewer than {}; shorten it, or send truncate",
                           input, tokens, context));
}

std::string vector_text(std::span<const float> vector, EmbeddingEncoding encoding) {
  if (encoding == EmbeddingEncoding::kBase64)
    return '"' + base64(std::as_bytes(vector)) + '"';  // every machine it runs on is little-endian
  std::string text = "[";
  for (std::size_t i = 0; i < vector.size(); ++i)
    fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : ",", vector[i]);
  return text + "]";
}

struct EmbeddingFacts {
  std::string model;
  std::size_t prompt_tokens = 0;
  EmbeddingEncoding encoding = EmbeddingEncoding::kNumbers;
  std::size_t dimensions = 0;
};

/// Written by hand: a float32 has half the digits of the double that a JSON library would print.
HttpResponse response_of(const PromptSession::Results& results, const EmbeddingFacts& facts) {
  std::string body = R"({"object":"list","data":[)";
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& vector = std::get<engine::Embedding>(*results[i]).values;
    const std::vector<float> unit = engine::unit_vector(vector, facts.dimensions);
    fmt::format_to(std::back_inserter(body), R"({}{{"object":"embedding","index":{},"embedding":{}}})",
                   i == 0 ? "" : ",", i, vector_text(unit, facts.encoding));
  }
  const Json usage{{"prompt_tokens", facts.prompt_tokens}, {"total_tokens", facts.prompt_tokens}};
  body += fmt::format(R"(],"model":{},"usage":{}}})", write_json(facts.model), write_json(usage));
  return {.body = std::move(body)};
}

}  // namespace

Reply embeddings(const Service::Call& call, const Json& body) {
  const EmbeddingRequest embedding = read_embedding_request(body, call.served->rules);
  EmbeddingFacts facts{
      .model = call.served->rules.model, .encoding = embedding.encoding, .dimensions = embedding.dimensions};
  std::vector<engine::Request> requests;
  for (const PlainPrompt& input : embedding.inputs) {
    engine::Request request = embedding.request;
    request.prompt = input_tokens(call, input, embedding.long_inputs);
    facts.prompt_tokens += request.prompt.size();
    check_length(request.prompt.size(), requests.size(), call);
    limit_time(call, request);
    count_adapters(*call.metrics, request);
    requests.push_back(std::move(request));
  }
  return [call, facts, requests = std::move(requests)] {
    PromptSession::start(
        {call.exchange, call.served, call.metrics, call.live},
        {.requests = requests,
         .field = "input",
         .complete = [facts, exchange = call.exchange](const PromptSession::Results& results) {
           exchange->respond(response_of(results, facts));
         }});
  };
}

}  // namespace lanner::server
