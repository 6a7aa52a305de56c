// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace lanner::text::grammar {

/// A set of classes of plain characters (see GrammarVocabulary), one bit each. Grammars seldom tell the
/// characters of a class apart: a-z, A-Z, 0-9, everything beyond ASCII; any other character is its own class.
using PlainClasses = std::uint64_t;

inline constexpr std::uint8_t kNoPlainClass = 255;

/// By byte below 128: the class, or kNoPlainClass.
inline constexpr std::array<std::uint8_t, 128> kAsciiClass = [] {
  std::array<std::uint8_t, 128> classes{};
  std::uint8_t next = 4;  // kSpreadClasses
  for (unsigned byte = 0; byte < classes.size(); ++byte) {
    if (byte < 0x20 || byte == '"' || byte == '\\')
      classes[byte] = kNoPlainClass;
    else if (byte >= 'a' && byte <= 'z')
      classes[byte] = 1;
    else if (byte >= 'A' && byte <= 'Z')
      classes[byte] = 2;
    else if (byte >= '0' && byte <= '9')
      classes[byte] = 3;
    else
      classes[byte] = next++;
  }
  return classes;
}();
inline constexpr std::uint8_t kBeyondAscii = 0;
/// The classes below this one have many characters, the others one.
inline constexpr std::uint8_t kSpreadClasses = 4;
inline constexpr unsigned kPlainClassCount = kAsciiClass[0x7F] + 1U;
/// By class: its first character's byte; nothing meaningful for kBeyondAscii.
inline constexpr std::array<std::uint8_t, kPlainClassCount> kClassByte = [] {
  std::array<std::uint8_t, kPlainClassCount> bytes{};
  for (unsigned byte = 128; byte-- > 0;)
    if (kAsciiClass[byte] != kNoPlainClass) bytes[kAsciiClass[byte]] = static_cast<std::uint8_t>(byte);
  return bytes;
}();
inline constexpr PlainClasses kAllPlain = (PlainClasses{1} << kPlainClassCount) - 1;

}  // namespace lanner::text::grammar
