// SPDX-License-Identifier: MIT
#include "engine/grammar_cache.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "engine/test_models.h"
#include "text/grammar/gbnf.h"

namespace lanner::engine {

TEST_CASE("grammar cache: keeps the latest used grammars, as many as its bytes hold") {
  const auto model = test::tale("tale-qwen3_5");
  std::size_t written = 0;
  const auto find = [&](GrammarCache& cache, const std::string& word) {
    return cache.find(word, [&](const text::grammar::GrammarVocabulary& vocabulary) {
      ++written;
      return text::grammar::parse_gbnf("root ::= \"" + word + "\"", vocabulary);
    });
  };
  GrammarCache roomy(model);
  const std::size_t bytes = find(roomy, "a")->memory_bytes() + 1;
  REQUIRE(bytes > 1);
  find(roomy, "b");
  CHECK(find(roomy, "a") == find(roomy, "a"));
  CHECK(written == 2);
  CHECK(roomy.size() == 2);

  GrammarCache tight(model, 2 * bytes);
  written = 0;
  find(tight, "a");
  find(tight, "b");
  find(tight, "a");
  find(tight, "c");  // "b" was not used for longest.
  CHECK(tight.size() == 2);
  find(tight, "a");
  CHECK(written == 3);
  find(tight, "b");
  CHECK(written == 4);

  GrammarCache none(model, 1);
  const auto kept = find(none, "a");
  CHECK(find(none, "a") == kept);
  find(none, "b");
  CHECK(none.size() == 1);
  CHECK_THROWS_AS(
      none.find("bad",
                [](const auto& vocabulary) { return text::grammar::parse_gbnf("root ::= (", vocabulary); }),
      Error);
  CHECK(none.size() == 1);
}

}  // namespace lanner::engine
