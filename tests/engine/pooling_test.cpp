// SPDX-License-Identifier: MIT
#include "engine/pooling.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "engine/engine.h"
#include "engine/test_models.h"
#include "engine/test_requests.h"
#include "io/temporary_folder.h"
#include "layers/step.h"

namespace lanner::engine {
namespace {

std::vector<TokenId> random_ids(std::size_t count, std::uint64_t seed) {
  return test::random_ids(count, seed, 7);
}

/// The final hidden states of a text from one forward, pooled plainly.
std::vector<float> plain(const LoadedModel& model, const std::vector<TokenId>& ids, Pooling pooling) {
  device::Stream stream(model.ops(), 1);
  Arena arena(*model.ops().memory);
  cache::SequenceCache cache(model.cache_spec(),
                             cache::BlockPool(cache::BlockPool::kUnlimited, *model.ops().memory));
  std::vector<std::int32_t> wanted(ids.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  const layers::Group group{.cache = &cache, .ids = ids, .wanted = wanted};
  layers::Step step(model.ops(), stream, arena, {&group, 1});
  const Tensor hidden = model.model().forward(step);
  const std::span<const float> all = model.ops().host_floats(stream, hidden);
  const std::size_t size = hidden.columns();
  if (pooling == Pooling::kLast) return {all.end() - static_cast<std::ptrdiff_t>(size), all.end()};
  std::vector<float> mean(size);
  for (std::size_t i = 0; i < size; ++i) {
    double sum = 0;
    for (std::size_t row = 0; row < ids.size(); ++row) sum += double(all[row * size + i]);
    mean[i] = static_cast<float>(sum / double(ids.size()));
  }
  return mean;
}

Request embed(std::vector<TokenId> ids, Pooling pooling) {
  Request request;
  request.prompt = std::move(ids);
  request.pooling = pooling;
  return request;
}

std::vector<float> result_of(RequestHandle handle) {
  std::vector<float> values;
  bool ended = false;
  while (auto event = handle.next()) {
    CHECK_FALSE(std::holds_alternative<TokenEvent>(*event));
    if (auto* embedding = std::get_if<Embedding>(&*event)) values = std::move(embedding->values);
    ended = ended || std::holds_alternative<RequestEnd>(*event);
  }
  CHECK(ended);
  return values;
}

}  // namespace

TEST_CASE("an embedding has the bits of one forward, whatever the pieces, threads, company and cache") {
  for (const auto& model : test::all_models()) {
    CAPTURE(model->checkpoint().folder().filename().string());
    for (const Pooling pooling : {Pooling::kLast, Pooling::kMean}) {
      const std::vector<std::size_t> sizes = {1, 2, 63, 64, 65, 150};
      std::vector<std::vector<float>> expected;
      for (const std::size_t size : sizes) expected.push_back(plain(*model, random_ids(size, size), pooling));
      for (const EngineOptions& options :
           {EngineOptions{.threads = 1},
            EngineOptions{.threads = 3, .max_sequences = 8, .max_step_tokens = 128, .prefill_chunk = 64}}) {
        Engine engine(model, options);
        Request answer;  // company that generates meanwhile, and that leaves a prefix of one of the texts
        answer.prompt = random_ids(100, 150);
        answer.max_tokens = 20;
        answer.end_of_text = EndOfText::kBanned;
        RequestHandle company = engine.require(std::move(answer));
        for (int repeat = 0; repeat < 2; ++repeat) {
          std::vector<RequestHandle> handles;
          for (const std::size_t size : sizes)
            handles.push_back(engine.require(embed(random_ids(size, size), pooling)));
          for (std::size_t i = 0; i < sizes.size(); ++i) {
            CAPTURE(sizes[i]);
            CHECK(result_of(std::move(handles[i])) == expected[i]);
          }
        }
      }
    }
  }
}

TEST_CASE("rows that are computed again, after their caches were lost, count once") {
  PooledHidden pooled(Pooling::kMean, 3);
  const std::vector<float> rows[] = {{1, 2}, {3, 4}, {5, 9}};
  CHECK(pooled.wants(0));
  pooled.add(0, rows[0]);
  pooled.add(1, rows[1]);
  CHECK_FALSE(pooled.wants(0));  // computed again after its caches were lost
  CHECK(pooled.result().empty());
  pooled.add(2, rows[2]);
  CHECK(pooled.result() == std::vector<float>{3, 5});
}

TEST_CASE("an embedding is one of one prompt, and asks for no likelihoods") {
  Engine engine(test::tale("tale-gemma4"), {});
  Request request = embed({5, 6}, Pooling::kLast);
  request.choices = 2;
  CHECK_THROWS_AS(engine.require(request), Error);
  request = embed({5, 6}, Pooling::kLast);
  request.prompt_logprobs = 1;
  CHECK_THROWS_AS(engine.require(request), Error);
}

TEST_CASE("vectors are cut first and scaled to length 1 then") {
  const std::vector<float> values = {3, 4, 12};
  CHECK(unit_vector(values, 2) == std::vector<float>{0.6F, 0.8F});
  CHECK(unit_vector(values, 0)[2] == static_cast<float>(12.0 / 13.0));
  CHECK(unit_vector(values, 9).size() == 3);
  CHECK(unit_vector(std::vector<float>{0, 0}, 0) == std::vector<float>{0, 0});
}

TEST_CASE("a checkpoint's own way of pooling is read, and one that is not known refused by name") {
  const io::TemporaryFolder folder;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(LANNER_MODELS_DIR) + "/tale-gemma4"))
    std::filesystem::create_symlink(file.path(), folder.path() / file.path().filename());
  const io::Checkpoint checkpoint(folder.path());
  CHECK_FALSE(declared_pooling(checkpoint));
  folder.write("1_Pooling/config.json",
               R"({"pooling_mode_lasttoken": true, "pooling_mode_cls_token": false})");
  CHECK(declared_pooling(checkpoint) == Pooling::kLast);
  folder.write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  CHECK(declared_pooling(checkpoint) == Pooling::kMean);
  folder.write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true})");
  CHECK(io::error_of(ErrorKind::kUnsupported, [&] { declared_pooling(checkpoint); }).find("cls_token") !=
        std::string::npos);
  folder.write("1_Pooling/config.json", "[]");
  io::error_of(ErrorKind::kCorrupt, [&] { declared_pooling(checkpoint); });
}

}  // namespace lanner::engine
