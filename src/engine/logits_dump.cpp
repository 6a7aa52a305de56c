// SPDX-License-Identifier: MIT
#include "engine/logits_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include "core/error.h"
#include "engine/logit_rows.h"
#include "engine/sampler.h"
#include "io/safetensors_writer.h"

namespace lanner::engine {
namespace {

std::string hidden_name(std::size_t index, std::size_t layers) {
  return index == layers + 1 ? std::string("final_norm") : fmt::format("hidden.{}", index);
}

void check(const models::ModelFacts& facts, std::span<const TokenId> ids) {
  if (ids.empty()) throw Error(ErrorKind::kInvalidArgument, "there are no token ids, expected at least one");
  if (ids.size() > facts.context)
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} token ids do not fit the model's context of {} (max_position_embeddings)",
                            ids.size(), facts.context));
  for (TokenId id : ids)
    if (id < 0 || static_cast<std::size_t>(id) >= facts.vocabulary)
      throw Error(
          ErrorKind::kInvalidArgument,
          fmt::format("token id {} is outside the vocabulary, expected 0 to {}", id, facts.vocabulary - 1));
}

std::vector<io::TensorDeclaration> declare(const models::Model& model, const LogitsDumpRequest& request) {
  const auto rows = static_cast<std::int64_t>(request.ids.size());
  std::vector<io::TensorDeclaration> tensors{
      {"logits", DType::kF32, {rows, static_cast<std::int64_t>(model.facts().vocabulary)}}};
  const std::size_t layers = model.cache_layers().size();
  if (request.hidden == HiddenStates::kAll)
    for (std::size_t i = 0; i < layers + 2; ++i)
      tensors.push_back({hidden_name(i, layers),
                         DType::kF32,
                         {rows, static_cast<std::int64_t>(model.facts().hidden_size)}});
  return tensors;
}

void append_floats(io::SafetensorsWriter& writer, const std::string& name, std::span<const float> values) {
  writer.append_values(name, values);
}

}  // namespace

void dump_logits(const models::Model& model, const device::Ops& ops, device::Stream& stream,
                 const LogitsDumpRequest& request, const std::filesystem::path& file) {
  check(model.facts(), request.ids);
  io::SafetensorsWriter writer(file, declare(model, request));
  const std::size_t layers = model.cache_layers().size();
  cache::SequenceCache cache({.layers = model.cache_layers(), .kv_type = device::KvType::kF32},
                             cache::BlockPool(cache::BlockPool::kUnlimited, *ops.memory));
  Arena arena(*ops.memory);
  for (std::size_t begin = 0; begin < request.ids.size();) {
    arena.reset();
    const std::size_t count = std::min(request.chunk, request.ids.size() - begin);
    std::vector<std::int32_t> wanted(count);
    std::iota(wanted.begin(), wanted.end(), 0);
    const layers::Group group{.cache = &cache,
                              .ids = std::span(request.ids).subspan(begin, count),
                              .wanted = wanted,
                              .adapters = request.adapters};
    layers::Step step(ops, stream, arena, {&group, 1});
    if (request.hidden == HiddenStates::kAll)
      step.tap = [&](std::size_t index, const Tensor& hidden) {
        append_floats(writer, hidden_name(index, layers), ops.host_floats(stream, hidden));
      };
    const Tensor hidden = model.forward(step);
    for (std::size_t row = 0; row < count; row += kLogitRows) {
      const ArenaScope scope(arena);
      const std::size_t end = std::min(count, row + kLogitRows);
      const Tensor logits =
          model.logits(step, hidden.slice(static_cast<std::int64_t>(row), static_cast<std::int64_t>(end)));
      const std::span<const float> values = ops.host_floats(stream, logits);
      require_finite(values);
      append_floats(writer, "logits", values);
    }
    begin += count;
    if (request.progress) request.progress(begin, request.ids.size());
  }
  writer.finish();
}

}  // namespace lanner::engine
