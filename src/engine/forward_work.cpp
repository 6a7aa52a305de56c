// SPDX-License-Identifier: MIT
#include "engine/forward_work.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <variant>

#include "engine/model_report.h"

namespace lanner::engine {
namespace {

std::optional<std::size_t> layer_of(std::string_view path) {
  constexpr std::string_view kLayers = "layers.";
  if (!path.starts_with(kLayers)) return std::nullopt;
  std::size_t layer = 0;
  const auto [end, error] = std::from_chars(path.data() + kLayers.size(), path.data() + path.size(), layer);
  return error == std::errc() ? std::optional(layer) : std::nullopt;
}

/// The share of all experts that `rows` rows are expected to meet.
double share_of_experts(const models::ModelFacts& facts, std::size_t rows) {
  if (facts.experts == 0) return 1;
  const double missed = 1 - static_cast<double>(facts.experts_per_token) / static_cast<double>(facts.experts);
  return 1 - std::pow(missed, static_cast<double>(rows));
}

/// Layers from here on run for the wanted rows only.
std::size_t first_dropping_layer(const std::vector<cache::LayerSpec>& layers) {
  std::size_t layer = layers.size();
  while (layer > 0 && std::holds_alternative<cache::SharedSpec>(layers[layer - 1])) --layer;
  return layer;
}

double kv_bytes(const std::vector<cache::LayerSpec>& layers, const ForwardRows& rows) {
  const auto kv = [&](const auto& spec, std::size_t positions) {
    return static_cast<double>(2 * spec.kv_heads * spec.head_dim * positions) * rows.kv_element;
  };
  double total = 0;
  for (const cache::LayerSpec& layer : layers) {
    const cache::LayerSpec* spec = &layer;
    if (const auto* shared = std::get_if<cache::SharedSpec>(spec)) spec = &layers[shared->donor];
    if (const auto* full = std::get_if<cache::FullSpec>(spec)) total += kv(*full, rows.depth);
    if (const auto* sliding = std::get_if<cache::SlidingSpec>(spec))
      total += kv(*sliding, std::min(rows.depth, sliding->window));
  }
  return total * static_cast<double>(rows.sequences);
}

double state_bytes(const std::vector<cache::LayerSpec>& layers, const ForwardRows& rows) {
  std::size_t total = 0;
  for (const cache::LayerSpec& layer : layers)
    if (const auto* delta = std::get_if<cache::RecurrentSpec>(&layer))
      total += delta->value_heads * delta->key_dim * delta->value_dim * sizeof(float);
  return static_cast<double>(total * rows.sequences);
}

}  // namespace

void ForwardWork::add_products(const StorageWork& work) {
  product_ops += work.product_ops;
  const auto known = std::ranges::find(storages, work.spec, &StorageWork::spec);
  if (known == storages.end())
    storages.push_back(work);
  else
    known->product_ops += work.product_ops;
}

ForwardWork& ForwardWork::operator+=(const ForwardWork& other) {
  read_bytes += other.read_bytes;
  state_bytes += other.state_bytes;
  for (const StorageWork& work : other.storages) add_products(work);
  return *this;
}

double ForwardWork::bound_seconds(const device::Roofline& roofline) const {
  return std::max(read_bytes / roofline.read_bytes_per_second,
                  product_ops / roofline.product_ops_per_second());
}

ForwardWork forward_work(const models::Model& model, const ForwardRows& rows) {
  const models::ModelFacts& facts = model.facts();
  const std::size_t dropping = first_dropping_layer(model.cache_layers());
  ForwardWork work;
  for (const models::ModuleFacts& module : facts.modules) {
    const std::string_view group = weight_group_name(module.path);
    if (group == "per-layer embeddings" || group == "norms" || group == "scalars") continue;
    const bool head = group == "head" || (group == "embeddings" && facts.tied_head);
    if (group == "embeddings" && !head) continue;
    const auto layer = layer_of(module.path);
    const bool late = layer && *layer >= dropping;
    const std::size_t meeting = head ? rows.scored.value_or(rows.wanted) : late ? rows.wanted : rows.rows;
    if (meeting == 0) continue;
    const bool expert = group == "experts";
    work.read_bytes +=
        static_cast<double>(module.size_bytes) * (expert ? share_of_experts(facts, meeting) : 1);
    const double ops = 2 * static_cast<double>(module.parameters) * static_cast<double>(meeting);
    work.add_products({module.spec, ops * (expert ? share_of_experts(facts, 1) : 1)});
  }
  work.state_bytes = state_bytes(model.cache_layers(), rows);
  work.read_bytes += kv_bytes(model.cache_layers(), rows) + work.state_bytes;
  return work;
}

}  // namespace lanner::engine
