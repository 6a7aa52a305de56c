// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <random>

#include "text/normalizer.h"
#include "text/unicode.h"

namespace lanner::text::test {
namespace {

std::string normalized_by_utf8proc(const std::string& text, int options) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                             static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options));
  REQUIRE(size >= 0);
  std::string out(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size));
  std::free(mapped);
  return out;
}

/// Characters of the kinds that normalization changes, and some that it leaves alone.
char32_t random_character(std::mt19937& random) {
  constexpr char32_t kFirst[] = {'a',    0xC0,   0x300,  0x370,  0x400,   0x900,   0x1100, 0x1160,
                                 0x11A8, 0x1E00, 0x1F00, 0x2000, 0x2120,  0x3040,  0x3090, 0x4E00,
                                 0xAC00, 0xF900, 0xFB00, 0xFF00, 0x1D15E, 0x110A0, 0x1F600};
  return kFirst[random() % std::size(kFirst)] + static_cast<char32_t>(random() % 48);
}

}  // namespace

TEST_CASE("normalization: the same text as utf8proc's own, for any mix of characters") {
  std::mt19937 random(6);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t i = random() % 12; i > 0; --i) append_utf8(text, random_character(random));
    CAPTURE(text);
    CHECK(normalize_unicode(text, UnicodeForm::kNfc) == normalized_by_utf8proc(text, UTF8PROC_COMPOSE));
    CHECK(normalize_unicode(text, UnicodeForm::kNfd) == normalized_by_utf8proc(text, UTF8PROC_DECOMPOSE));
    CHECK(normalize_unicode(text, UnicodeForm::kNfkc) ==
          normalized_by_utf8proc(text, UTF8PROC_COMPOSE | UTF8PROC_COMPAT));
    CHECK(normalize_unicode(text, UnicodeForm::kNfkd) ==
          normalized_by_utf8proc(text, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT));
  }
}

TEST_CASE("normalization: every single character, alone and with a mark behind it") {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, c);
    if (normalize_unicode(text, UnicodeForm::kNfc) != normalized_by_utf8proc(text, UTF8PROC_COMPOSE))
      FAIL_CHECK(c);
    text = "e" + text + "\u0301";
    if (normalize_unicode(text, UnicodeForm::kNfc) != normalized_by_utf8proc(text, UTF8PROC_COMPOSE))
      FAIL_CHECK(c);
  }
}

TEST_CASE("UTF-8: ill-formed bytes become one U+FFFD for each maximal part") {
  CHECK(to_valid_utf8("a\xFF"
                      "b") == "a\uFFFDb");
  CHECK(to_valid_utf8("\xE2\x82") == "\uFFFD");
  CHECK(to_valid_utf8("\xE2\x82"
                      "A") == "\uFFFDA");
  CHECK(to_valid_utf8("\xF0\x9F\x98") == "\uFFFD");
  CHECK(to_valid_utf8("\xC0\x80") == "\uFFFD\uFFFD");
  CHECK(to_valid_utf8("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");
  CHECK(to_valid_utf8("\xF4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");
  CHECK(to_valid_utf8("\xF0\x80\x80") == "\uFFFD\uFFFD\uFFFD");
  CHECK(to_valid_utf8("é漢😀") == "é漢😀");
}

TEST_CASE("UTF-8: a stream gives the same text however its bytes are cut") {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes;
    for (std::size_t i = random() % 16; i > 0; --i) {
      if (random() % 3 != 0) {
        append_utf8(bytes, random_character(random));
      } else {
        bytes.push_back(static_cast<char>(random() % 256));
      }
    }
    Utf8Stream stream;
    std::string text;
    for (std::size_t begin = 0; begin < bytes.size();) {
      const std::size_t size = 1 + random() % 3;
      stream.append(std::string_view(bytes).substr(begin, size), text);
      begin += size;
    }
    stream.finish(text);
    CHECK(text == to_valid_utf8(bytes));
    CHECK(find_invalid_utf8(text) == std::string::npos);
  }
}

TEST_CASE("UTF-8: every character is written and read back") {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(text, c);
    std::size_t end = 0;
    const Utf8Step step = read_utf8(text);
    if (next_code_point(text, end) != c || end != text.size()) FAIL_CHECK(c);
    if (step.status != Utf8Status::kValid || step.code_point != c || step.length != end) FAIL_CHECK(c);
  }
}

}  // namespace lanner::text::test
