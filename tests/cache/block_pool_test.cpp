// SPDX-License-Identifier: MIT
#include "cache/block_pool.h"

#include <doctest/doctest.h>

#include "core/error.h"

namespace lanner::cache {

TEST_CASE("a pool counts living blocks once, whoever holds them, and remembers the most") {
  const BlockPool pool;
  BlockRef a = pool.take(1000);
  BlockRef b = a;
  CHECK(is_shared(a));
  CHECK(pool.used_bytes() == 1000);
  pool.make_exclusive(b);
  CHECK(a != b);
  CHECK_FALSE(is_shared(a));
  CHECK(pool.used_bytes() == 2000);
  a = nullptr;
  CHECK(pool.used_bytes() == 1000);
  CHECK(pool.peak_bytes() == 2000);
}

TEST_CASE("a pool refuses a block beyond its cap and goes on when one was released") {
  const BlockPool pool(1500);
  BlockRef a = pool.take(1000);
  try {
    pool.take(501);
    FAIL("501 bytes beside 1000 fitted into 1500");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kOutOfMemory);
    CHECK(std::string(error.what()).find("1500 bytes, 1000 of them are in use and 501 more") !=
          std::string::npos);
  }
  CHECK(pool.used_bytes() == 1000);
  CHECK(pool.take(500) != nullptr);
  a = nullptr;
  CHECK(pool.take(1500)->size_bytes() == 1500);
  CHECK_THROWS_AS(pool.take(SIZE_MAX), Error);
}

}  // namespace lanner::cache
