// SPDX-License-Identifier: MIT
#include "engine/generation.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "layers/step.h"

namespace lanner::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

cache::CacheSpec cache_spec(const models::Model& model) {
  return {.layers = model.cache_layers(), .kv_dtype = DType::kF32};
}

}  // namespace

Generation::Generation(const LoadedModel& model, device::Stream& stream, GenerationRequest request)
    : model_(model),
      stream_(stream),
      request_(std::move(request)),
      cache_(cache_spec(model.model())),
      arena_(*model.ops().memory),
      sampler_(request_.sampling,
               {.vocabulary = model.tokenizer().vocab_size(), .suppressed = model.defaults().suppressed}),
      tokens_(request_.prompt) {
  const std::size_t whole = model.model().facts().context;
  const std::size_t context = std::min(whole, request_.context.value_or(whole));
  if (tokens_.empty())
    throw Error(ErrorKind::kInvalidArgument, "the prompt is empty, there is nothing to continue");
  if (tokens_.size() >= context)
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format(
            "the prompt has {} tokens, the context holds {} ({}) and needs room for an answer; shorten "
            "the prompt",
            tokens_.size(), context, context < whole ? "as asked for" : "max_position_embeddings"));
  limit_ = context;
  if (request_.max_tokens) limit_ = std::min(context, tokens_.size() + *request_.max_tokens);
}

std::optional<Tensor> Generation::feed(std::span<const TokenId> ids, layers::Phase phase) {
  for (std::size_t begin = 0;;) {
    arena_.reset();
    const std::size_t count = std::min(request_.chunk, ids.size() - begin);
    const bool last_piece = begin + count == ids.size();
    const auto last_row = static_cast<std::int32_t>(count) - 1;
    const layers::Group group{.cache = &cache_,
                              .phase = phase,
                              .ids = ids.subspan(begin, count),
                              .wanted = {&last_row, last_piece ? 1U : 0U}};
    layers::Step step(model_.ops(), stream_, arena_, {&group, 1});
    const Tensor hidden = model_.model().forward(step);
    begin += count;
    if (request_.on_prompt && phase == layers::Phase::kPrompt) request_.on_prompt(begin, ids.size());
    if (last_piece) return model_.model().logits(step, hidden);
    if (is_cancelled()) return std::nullopt;
  }
}

std::optional<TokenId> Generation::next() {
  if (finished_) return std::nullopt;
  finished_ = true;  // until a token is found
  if (tokens_.size() >= limit_) {
    finish_reason_ = FinishReason::kLength;
    return std::nullopt;
  }
  if (is_cancelled()) return std::nullopt;
  const bool prompt = fed_ == 0;
  const auto start = Clock::now();
  const auto logits =
      feed(std::span(tokens_).subspan(fed_), prompt ? layers::Phase::kPrompt : layers::Phase::kDecode);
  if (!logits) return std::nullopt;
  fed_ = tokens_.size();
  const TokenId token = sampler_.choose(model_.ops().host_floats(stream_, *logits), tokens_, tokens_.size());
  (prompt ? timings_.prompt_seconds : timings_.decode_seconds) += seconds_since(start);
  if (prompt) timings_.prompt_tokens = tokens_.size();
  if (std::ranges::binary_search(model_.defaults().stop_ids, token)) {
    finish_reason_ = FinishReason::kStop;
    return std::nullopt;
  }
  tokens_.push_back(token);
  ++timings_.generated_tokens;
  finished_ = false;
  return token;
}

}  // namespace lanner::engine
