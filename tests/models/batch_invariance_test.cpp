// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/cpu_features.h"
#include "models/fixture_case.h"
#include "random.h"

namespace lanner::test {
namespace {

constexpr std::size_t kPrompt = 150;  // crosses two chunk boundaries and every fixture's window

std::vector<TokenId> random_ids(std::size_t count, std::uint64_t seed, std::size_t vocabulary) {
  const auto values = random_uniform(count, seed, 3, static_cast<float>(vocabulary - 20));
  std::vector<TokenId> ids;
  for (float value : values) ids.push_back(static_cast<TokenId>(value));
  return ids;
}

/// Logits of all rows when ids are fed in pieces of the given length.
std::vector<float> feed_in_pieces(Runner& runner, std::span<const TokenId> ids, std::size_t piece) {
  cache::SequenceCache cache = runner.new_cache();
  std::vector<float> all;
  for (std::size_t begin = 0; begin < ids.size(); begin += piece) {
    const auto part = ids.subspan(begin, std::min(piece, ids.size() - begin));
    const auto logits = runner.logits(cache, part);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

/// Runs a check on each fixture with each instruction set.
template <typename Check>
void on_every_model(int threads, Check&& check) {
  for (const auto& folder : model_fixtures())
    for (const device::Ops& ops : tested_ops()) {
      CAPTURE(folder.filename().string());
      CAPTURE(std::string(ops.device));
      Runner runner(folder, ops, threads);
      check(runner, random_ids(kPrompt, 7, runner.model().facts().vocabulary));
    }
}

}  // namespace

TEST_CASE("a prompt in pieces of any length, token by token or whole gives the same bits") {
  on_every_model(2, [](Runner& runner, const std::vector<TokenId>& ids) {
    const auto whole = feed_in_pieces(runner, ids, ids.size());
    for (std::size_t piece : {1U, 2U, 7U, 64U, 100U}) {
      CAPTURE(piece);
      CHECK(feed_in_pieces(runner, ids, piece) == whole);
    }
  });
}

TEST_CASE("the number of threads does not change a bit") {
  const device::Ops ops = tested_ops().back();
  for (const auto& folder : model_fixtures()) {
    CAPTURE(folder.filename().string());
    std::vector<float> first;
    for (int threads : {1, 2, 3, 4}) {
      Runner runner(folder, ops, threads);
      const auto ids = random_ids(kPrompt, 7, runner.model().facts().vocabulary);
      auto logits = feed_in_pieces(runner, ids, 97);
      if (first.empty())
        first = std::move(logits);
      else
        CHECK(logits == first);
    }
  }
}

TEST_CASE("other sequences in the step, prompts and decodes mixed, do not change a bit") {
  on_every_model(2, [](Runner& runner, const std::vector<TokenId>& ids) {
    const auto alone = feed_in_pieces(runner, ids, ids.size());
    const std::size_t vocabulary = runner.model().facts().vocabulary;
    cache::SequenceCache mine = runner.new_cache();
    cache::SequenceCache second = runner.new_cache();
    cache::SequenceCache third = runner.new_cache();
    std::vector<float> got;
    std::size_t begin = 0;
    for (std::size_t rows : {70U, 1U, 1U, 5U, 1U, 72U}) {
      const std::vector<TokenId> part(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                                      ids.begin() + static_cast<std::ptrdiff_t>(begin + rows));
      const std::vector<std::vector<TokenId>> all = {random_ids(1, begin + 1, vocabulary), part,
                                                     random_ids(33, begin + 2, vocabulary)};
      std::vector<cache::SequenceCache*> caches = {&second, &mine, &third};
      const auto logits = runner.logits(caches, all)[1];
      got.insert(got.end(), logits.begin(), logits.end());
      begin += rows;
    }
    REQUIRE(begin == ids.size());
    CHECK(got == alone);
  });
}

TEST_CASE("a rolled back draft leaves no trace, whatever was kept and whichever boundary it crossed") {
  on_every_model(2, [](Runner& runner, const std::vector<TokenId>& ids) {
    const auto whole = feed_in_pieces(runner, ids, ids.size());
    const std::size_t width = runner.model().facts().vocabulary;
    cache::SequenceCache cache = runner.new_cache();
    std::vector<float> got;
    std::size_t position = 0;
    const std::size_t kept_counts[] = {50, 0, 13, 1, 0, 4, 30, 2, 50};
    for (std::size_t kept : kept_counts) {
      auto draft = cache.begin_draft(64);
      REQUIRE(draft.has_value());
      const std::size_t good = std::min(kept, ids.size() - position);
      std::vector<TokenId> window(ids.begin() + static_cast<std::ptrdiff_t>(position),
                                  ids.begin() + static_cast<std::ptrdiff_t>(position + good));
      const auto wrong = random_ids(std::min<std::size_t>(64 - good, 9), position + 99, width);
      window.insert(window.end(), wrong.begin(), wrong.end());
      const auto logits = runner.logits(cache, window, layers::Phase::kVerify);
      got.insert(got.end(), logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(good * width));
      draft->commit(good);
      position += good;
      CHECK(cache.length() == position);
    }
    REQUIRE(position == ids.size());
    CHECK(got == whole);
  });
}

TEST_CASE("an abandoned draft undoes everything") {
  on_every_model(1, [](Runner& runner, const std::vector<TokenId>& ids) {
    const auto whole = feed_in_pieces(runner, ids, ids.size());
    cache::SequenceCache cache = runner.new_cache();
    auto got = runner.logits(cache, std::span(ids).first(60));
    {
      auto draft = cache.begin_draft(20);
      REQUIRE(draft.has_value());
      runner.logits(cache, std::span(ids).first(20), layers::Phase::kVerify);
      CHECK_FALSE(cache.begin_draft(1).has_value());
    }
    const auto rest = runner.logits(cache, std::span(ids).subspan(60));
    got.insert(got.end(), rest.begin(), rest.end());
    CHECK(got == whole);
  });
}

}  // namespace lanner::test
