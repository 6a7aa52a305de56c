// SPDX-License-Identifier: MIT
#include "engine/benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <numeric>

#include "core/error.h"
#include "core/philox.h"
#include "layers/step.h"

namespace lanner::engine {
namespace {

constexpr std::uint64_t kTokenKey = 0x6c616e6e6572;

double now_seconds(BenchmarkClock clock) {
  std::timespec time{};
  ::clock_gettime(clock == BenchmarkClock::kElapsed ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

std::string BenchmarkTest::name() const {
  std::string text;
  if (prompt != 0) text += fmt::format("pp{}", prompt);
  if (decode != 0) text += fmt::format("{}tg{}", prompt != 0 ? "+" : "", decode);
  if (sequences != 1) text += fmt::format(" x{}", sequences);
  if (depth != 0) text += fmt::format(" @ d{}", depth);
  return text;
}

std::vector<TokenId> Benchmark::random_tokens(std::size_t count) {
  std::vector<TokenId> ids(count);
  const auto vocabulary = static_cast<std::uint32_t>(model_.model().facts().vocabulary);
  for (TokenId& id : ids)
    id = static_cast<TokenId>(philox4x32(kTokenKey, {drawn_++, 0, 0, 0})[0] % vocabulary);
  return ids;
}

std::vector<std::int32_t> Benchmark::wanted_rows(std::size_t count, std::size_t rest) const {
  const auto last = static_cast<std::int32_t>(count) - 1;
  if (options_.prompt_rows == PromptRows::kLast)
    return rest == 0 ? std::vector{last} : std::vector<std::int32_t>();
  std::vector<std::int32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

void Benchmark::prepare(const BenchmarkTest& test) {
  const std::size_t context = model_.model().facts().context;
  if (test.depth + test.prompt + test.decode > context)
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} does not fit the context of {} tokens", test.name(), context));
  if (contexts_.size() == test.sequences && contexts_.front().length() == test.depth) return;
  contexts_.clear();
  for (std::size_t i = 0; i < test.sequences; ++i) contexts_.emplace_back(model_.cache_spec(), pool_);
  if (test.depth != 0) feed_prompt(contexts_, test.depth);
}

void Benchmark::feed_prompt(std::vector<cache::SequenceCache>& caches, std::size_t tokens) {
  for (cache::SequenceCache& cache : caches) {
    const std::vector<TokenId> ids = random_tokens(tokens);
    for (std::size_t begin = 0; begin < tokens; begin += options_.chunk) {
      arena_.reset();
      const std::size_t count = std::min(options_.chunk, tokens - begin);
      const std::size_t rest = tokens - begin - count;
      const std::vector<std::int32_t> wanted = wanted_rows(count, rest);
      const layers::Group group{.cache = &cache,
                                .phase = layers::Phase::kPrompt,
                                .ids = std::span(ids).subspan(begin, count),
                                .wanted = wanted};
      layers::Step step(model_.ops(), stream_, arena_, {&group, 1});
      const Tensor hidden = model_.model().forward(step);
      if (rest != 0) continue;
      const auto rows = static_cast<std::int64_t>(wanted.size());
      TokenId chosen = 0;
      model_.ops().argmax(stream_, {&chosen, 1}, model_.model().logits(step, hidden.slice(rows - 1, rows)));
    }
  }
}

void Benchmark::decode(std::vector<cache::SequenceCache>& caches) {
  arena_.reset();
  const std::vector<TokenId> ids = random_tokens(caches.size());
  constexpr std::int32_t kOnly = 0;
  std::vector<layers::Group> groups;
  for (std::size_t i = 0; i < caches.size(); ++i)
    groups.push_back({.cache = &caches[i],
                      .phase = layers::Phase::kDecode,
                      .ids = std::span(ids).subspan(i, 1),
                      .wanted = {&kOnly, 1}});
  layers::Step step(model_.ops(), stream_, arena_, groups);
  std::vector<TokenId> chosen(caches.size());
  model_.ops().argmax(stream_, chosen, model_.model().logits(step, model_.model().forward(step)));
}

double Benchmark::run(const BenchmarkTest& test) {
  prepare(test);
  std::vector<cache::SequenceCache> caches;
  for (const cache::SequenceCache& context : contexts_) caches.push_back(context.fork());
  const double start = now_seconds(options_.clock);
  if (test.prompt != 0) feed_prompt(caches, test.prompt);
  for (std::size_t i = 0; i < test.decode; ++i) decode(caches);
  return now_seconds(options_.clock) - start;
}

ForwardWork Benchmark::work(const BenchmarkTest& test) const {
  const models::Model& model = model_.model();
  const device::KvLayout group{model_.cache_spec().kv_type, device::kKvGroup};
  const double element = static_cast<double>(group.head_bytes()) / (device::kKvBlock * device::kKvGroup);
  ForwardWork total;
  for (std::size_t begin = 0; begin < test.prompt; begin += options_.chunk) {
    const std::size_t count = std::min(options_.chunk, test.prompt - begin);
    const std::size_t rest = test.prompt - begin - count;
    const ForwardWork piece = forward_work(model, {.rows = count,
                                                   .wanted = wanted_rows(count, rest).size(),
                                                   .scored = rest == 0 ? 1U : 0U,
                                                   .depth = test.depth + begin,
                                                   .kv_element = element});
    for (std::size_t i = 0; i < test.sequences; ++i) total += piece;
  }
  for (std::size_t i = 0; i < test.decode; ++i)
    total += forward_work(model, {.rows = test.sequences,
                                  .wanted = test.sequences,
                                  .sequences = test.sequences,
                                  .depth = test.depth + test.prompt + i,
                                  .kv_element = element});
  return total;
}

}  // namespace lanner::engine
