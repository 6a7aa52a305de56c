// SPDX-License-Identifier: MIT
#include "models/fixture_case.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

#include "models/model_registry.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;

// Folders whose model_type is a drafter, or whose text needs images, belong to other tests.
constexpr std::string_view kTextFixtures[] = {
    "gemma4/g1_e_ple_kvshare",         "gemma4/g2_dense_k_eq_v", "gemma4/g3_moe",
    "gemma4/g4_e_double_wide",         "gemma4/g9_e_real_heads", "qwen3_5/q1_dense_tied",
    "qwen3_5/q2_dense_grouped_untied", "qwen3_5/q3_moe",         "qwen3_5/q5_real_heads"};

template <typename T>
std::vector<T> read_as(const io::TensorEntry& entry) {
  std::vector<T> values(entry.bytes.size() / sizeof(T));
  std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  return values;
}

}  // namespace

std::vector<fs::path> model_fixtures() {
  const char* variable = std::getenv("LANNER_FIXTURES");
  const fs::path whole =
      variable != nullptr ? fs::path(variable) : fs::path(LANNER_GOLDEN_DIR) / "../../../shared/fixtures";
  std::vector<fs::path> found;
  for (std::string_view name : kTextFixtures)
    for (const fs::path& root : {whole, fs::path(LANNER_GOLDEN_DIR) / "models"})
      if (fs::exists(root / name / "config.json")) {
        found.push_back(root / name);
        break;
      }
  return found;
}

Runner::Runner(const fs::path& folder, const device::Ops& ops, int threads, device::Compute compute)
    : checkpoint_(folder),
      ops_(ops),
      stream_(ops_, threads),
      arena_(*ops.memory),
      model_(models::load_model(checkpoint_, {.ops = ops_, .compute = compute, .pool = stream_.pool()})) {}

Runner::Runner(const fs::path& folder, Isa isa, int threads, device::Compute compute)
    : Runner(folder, device::cpu_ops(isa, compute), threads, compute) {}

std::vector<float> Runner::on_host(const Tensor& x) {
  const auto values = ops_.host_floats(stream_, x);
  return {values.begin(), values.end()};
}

std::vector<float> Runner::on_host(const float* data, std::size_t count) {
  std::vector<float> values(count);
  ops_.memory->download(values.data(), reinterpret_cast<const std::byte*>(data), count * sizeof(float));
  return values;
}

cache::SequenceCache Runner::new_cache(device::KvType type) const {
  return cache::SequenceCache({.layers = model_->cache_layers(), .kv_type = type},
                              cache::BlockPool(cache::BlockPool::kUnlimited, *ops_.memory));
}

std::vector<float> Runner::tail_logits(device::KvType type, std::span<const TokenId> ids, std::size_t piece) {
  cache::SequenceCache cache = new_cache(type);
  const std::size_t head = ids.size() - 12;
  for (std::size_t begin = 0; begin < head; begin += piece)
    last_logits(cache, ids.subspan(begin, std::min(piece, head - begin)));
  std::vector<float> all;
  for (std::size_t i = head; i < ids.size(); ++i) {
    const auto row = logits(cache, ids.subspan(i, 1), layers::Phase::kDecode);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

std::vector<float> Runner::logits(cache::SequenceCache& cache, std::span<const TokenId> ids,
                                  layers::Phase phase, const layers::Tap& tap) {
  arena_.reset();
  std::vector<std::int32_t> wanted(ids.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  const layers::Group group{
      .cache = &cache, .phase = phase, .ids = ids, .wanted = wanted, .adapters = adapters_};
  layers::Step step(ops_, stream_, arena_, {&group, 1});
  step.tap = tap;
  const Tensor out = model_->logits(step, model_->forward(step));
  return on_host(out);
}

std::vector<std::vector<float>> Runner::logits(std::span<cache::SequenceCache*> caches,
                                               std::span<const std::vector<TokenId>> ids,
                                               std::span<const layers::LoraSet* const> adapters) {
  arena_.reset();
  std::vector<std::vector<std::int32_t>> wanted;
  std::vector<layers::Group> groups;
  for (const std::vector<TokenId>& sequence : ids) {
    wanted.emplace_back(sequence.size());
    std::iota(wanted.back().begin(), wanted.back().end(), 0);
  }
  for (std::size_t i = 0; i < ids.size(); ++i)
    groups.push_back({.cache = caches[i],
                      .phase = ids[i].size() == 1 ? layers::Phase::kDecode : layers::Phase::kPrompt,
                      .ids = ids[i],
                      .wanted = wanted[i],
                      .adapters = adapters.empty() ? nullptr : adapters[i]});
  layers::Step step(ops_, stream_, arena_, groups);
  const Tensor out = model_->logits(step, model_->forward(step));
  std::vector<std::vector<float>> results;
  const std::vector<float> all = on_host(out);
  const float* row = all.data();
  for (const std::vector<TokenId>& sequence : ids) {
    const std::size_t count = sequence.size() * out.columns();
    results.emplace_back(row, row + count);
    row += count;
  }
  return results;
}

std::vector<float> Runner::last_logits(cache::SequenceCache& cache, std::span<const TokenId> ids) {
  arena_.reset();
  const std::int32_t last = static_cast<std::int32_t>(ids.size()) - 1;
  const layers::Group group{.cache = &cache, .ids = ids, .wanted = {&last, 1}, .adapters = adapters_};
  layers::Step step(ops_, stream_, arena_, {&group, 1});
  const Tensor out = model_->logits(step, model_->forward(step));
  return on_host(out);
}

std::vector<float> oracle_floats(const io::SafetensorsFile& oracle, std::string_view name) {
  return read_as<float>(oracle.require(name));
}

std::vector<TokenId> oracle_ids(const io::SafetensorsFile& oracle, std::string_view name) {
  return read_as<TokenId>(oracle.require(name));
}

double rms_relative(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += std::pow(double(got[i]) - double(want[i]), 2);
    norm += std::pow(double(want[i]), 2);
  }
  return std::sqrt(error / norm);
}

double max_absolute(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::abs(double(got[i]) - double(want[i])));
  return worst;
}

}  // namespace lanner::test
