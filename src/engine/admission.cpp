// SPDX-License-Identifier: MIT
#include "engine/admission.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "engine/stop_strings.h"

namespace lanner::engine {
namespace {

void check_ids(std::span<const TokenId> ids, std::size_t vocabulary, const char* what) {
  for (TokenId id : ids)
    if (id < 0 || static_cast<std::size_t>(id) >= vocabulary)
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{} holds token id {}, expected 0 to {}", what, id, vocabulary - 1));
}

}  // namespace

void check_request(const Request& request, const LoadedModel& model) {
  const std::size_t vocabulary = model.model().facts().vocabulary;
  if (request.prompt.empty())
    throw Error(ErrorKind::kInvalidArgument, "the prompt is empty, there is nothing to continue");
  check_ids(request.prompt, vocabulary, "the prompt");
  check_ids(request.stop_ids, vocabulary, "the list of stop ids");
  for (const auto& [id, bias] : request.sampling.logit_bias)
    check_ids({&id, 1}, vocabulary, "the logit bias");
  if (request.choices == 0)
    throw Error(ErrorKind::kInvalidArgument, "the number of choices is 0, expected at least 1");
  if ((request.pooling || request.wants_state) && (request.choices != 1 || request.prompt_logprobs))
    throw Error(
        ErrorKind::kInvalidArgument,
        "an embedding or a state is asked for with several choices or log-probabilities, expected neither");
  if (request.adapters && request.adapters->lora.targets() != model.model().facts().targets.size())
    throw Error(ErrorKind::kInvalidArgument, "the adapters are of another model, expected this engine's");
  StopStrings{request.stop};
}

std::variant<std::size_t, Refusal> token_limit(const Request& request, const LoadedModel& model,
                                               const CacheBudget& budget) {
  const std::size_t whole = model.model().facts().context;
  const std::size_t context = std::min(whole, request.context.value_or(whole));
  const char* source = context < whole ? "as asked for" : "max_position_embeddings";
  const std::size_t prompt = request.prompt.size();
  const std::optional<std::size_t> max_tokens =
      request.pooling || request.wants_state ? 0 : request.max_tokens;
  const std::size_t answer = max_tokens.value_or(1);
  if (prompt + answer > context || prompt >= context)
    return Refusal{
        .kind = RefusalKind::kContextLength,
        .message =
            max_tokens && prompt < context
                ? fmt::format("the prompt has {} tokens and {} are asked for, the context holds {} ({}); "
                              "shorten the prompt or ask for less",
                              prompt, answer, context, source)
                : fmt::format("the prompt has {} tokens, the context holds {} ({}) and needs room for an "
                              "answer; shorten the prompt",
                              prompt, context, source)};
  const std::size_t asked = max_tokens ? prompt + *max_tokens : context;
  const std::size_t fitting = budget.longest_fitting(asked);
  if (fitting < prompt + answer)
    return Refusal{
        .kind = RefusalKind::kMemory,
        .message = fmt::format("the prompt has {} tokens and at least {} are to follow; memory for "
                               "caches ({} MiB) holds {}",
                               prompt, answer, budget.total_bytes() >> 20, fitting)};
  return max_tokens ? asked : fitting;
}

}  // namespace lanner::engine
