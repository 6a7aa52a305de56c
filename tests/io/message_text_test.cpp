// SPDX-License-Identifier: MIT
#include "io/message_text.h"

#include <doctest/doctest.h>

namespace lanner::io {

TEST_CASE("printable keeps UTF-8, escapes control characters and broken bytes, and stays on one line") {
  CHECK(printable("größe 大 🦙") == "größe 大 🦙");
  CHECK(printable("a\nb\tc\x7f") == "a\\x0ab\\x09c\\x7f");
  CHECK(printable("\xff\xc0\x80") == "\\xff\\xc0\\x80");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(printable("\xf4\x90\x80\x80 \xe2\x82") == "\\xf4\\x90\\x80\\x80 \\xe2\\x82");
  CHECK(printable("") == "");
}

TEST_CASE("printable cuts long text at a whole character") {
  const std::string cut = printable(std::string(159, 'x') + "äöü and more");
  CHECK(cut == std::string(159, 'x') + "ä...");
}

TEST_CASE("readable_size picks the unit") {
  CHECK(readable_size(912) == "912 bytes");
  CHECK(readable_size(14'680'336) == "14.7 MB");
  CHECK(readable_size(52'100'000'000) == "52.1 GB");
}

}  // namespace lanner::io
