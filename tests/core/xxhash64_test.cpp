// SPDX-License-Identifier: MIT
#include "core/xxhash64.h"

#include <doctest/doctest.h>

#include <string>

namespace lanner {
namespace {

std::uint64_t hash(std::string_view text) { return xxhash64(std::as_bytes(std::span(text))); }

}  // namespace

TEST_CASE("xxhash64 gives the published values, in any number of pieces") {
  CHECK(hash("") == 0xef46db3751d8e999);
  CHECK(hash("a") == 0xd24ec4f1a98c6e5b);
  CHECK(hash("abc") == 0x44bc2cf5ad770999);
  const std::string text = "Nobody inspects the spammish repetition";
  CHECK(hash(text) == 0xfbcea83c8a378bf1);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Xxhash64 pieces;
    pieces.add(std::string_view(text).substr(0, cut));
    pieces.add(std::string_view(text).substr(cut));
    CHECK(pieces.value() == hash(text));
  }
}

}  // namespace lanner
