// SPDX-License-Identifier: MIT
#include "text/grammar/terms.h"

#include <doctest/doctest.h>

#include <string>

using namespace lanner::text::grammar;

namespace {

bool matches(Terms& terms, TermId term, const std::string& text) {
  for (const char c : text) term = terms.derivative(term, static_cast<std::uint8_t>(c));
  return term != terms.nothing() && terms.nullable(term);
}

}  // namespace

TEST_CASE("terms: equal languages that are written alike share one id") {
  Terms terms;
  const TermId a = terms.bytes(ByteSet::of('a')), b = terms.bytes(ByteSet::of('b'));
  const TermId ab[] = {a, b}, ba[] = {b, a, a};
  CHECK(terms.choice(ab) == terms.choice(ba));
  CHECK(terms.sequence(terms.sequence(a, b), a) == terms.sequence(a, terms.sequence(b, a)));
  CHECK(terms.repeat(terms.empty(), 0, 5) == terms.empty());
  CHECK(terms.complement(terms.complement(a)) == a);
  CHECK(terms.sequence(a, terms.nothing()) == terms.nothing());
}

TEST_CASE("terms: a derivative that nothing can complete is the empty language") {
  Terms terms;
  const TermId a = terms.bytes(ByteSet::of('a')), b = terms.bytes(ByteSet::of('b'));
  const TermId many_a = terms.repeat(a, 0, kUnbounded);
  const TermId ways[] = {terms.sequence(a, b), many_a};
  const TermId even[] = {terms.choice(ways), terms.repeat(terms.sequence(a, a), 1, kUnbounded)};
  const TermId both = terms.both(even);  // An even number of a, at least two.
  CHECK(matches(terms, both, "aa"));
  CHECK_FALSE(matches(terms, both, "aaa"));
  CHECK(terms.derivative(terms.derivative(both, 'a'), 'b') == terms.nothing());
  const TermId contradiction[] = {terms.repeat(a, 3, 3), terms.repeat(a, 0, 2)};
  CHECK_FALSE(terms.alive(terms.both(contradiction)));
}

TEST_CASE("terms: decimal multiples are exact") {
  Terms terms;
  struct Case {
    std::uint64_t divisor;
    std::uint32_t places;
    std::vector<std::string> yes, no;
  };
  const std::vector<Case> cases = {
      {7, 0, {"0", "7", "7000000000000000000000007", "14.0", "21.000"}, {"8", "7.5", "1", "7.1"}},
      {25, 2, {"0.25", "1", "1.5", "0.750", "3.25"}, {"0.3", "0.251", "0.2"}},
      {1, 1, {"0.1", "5", "2.30"}, {"0.01", "0.15"}},
  };
  for (const Case& it : cases) {
    const TermId term = terms.multiple({.divisor = it.divisor, .places = it.places});
    for (const std::string& text : it.yes) CHECK_MESSAGE(matches(terms, term, text), text);
    for (const std::string& text : it.no) CHECK_MESSAGE(!matches(terms, term, text), text);
  }
}

TEST_CASE("terms: counts beyond the reach of a token do not matter to its mask") {
  Terms terms;
  const TermId a = terms.bytes(ByteSet::of('a'));
  CHECK(terms.within(terms.repeat(a, 5000, 90000), 16) ==
        terms.within(terms.repeat(a, 4000, kUnbounded), 16));
  CHECK(terms.within(terms.repeat(a, 0, 16), 16) == terms.repeat(a, 0, 16));
  const TermId word = terms.sequence(a, terms.repeat(a, 1, 9));  // Two bytes at least: 8 words in 16 bytes.
  CHECK(terms.within(terms.repeat(word, 10, 40), 16) == terms.within(terms.repeat(word, 9, 9), 16));
  CHECK(terms.within(terms.repeat(word, 0, 8), 16) == terms.repeat(word, 0, 8));
}
