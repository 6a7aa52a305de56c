// SPDX-License-Identifier: MIT
#include "engine/adapter_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "io/message_text.h"

namespace lanner::engine {
namespace {

constexpr std::size_t kLongestId = 128;

Error bad_choice(std::string_view part) {
  return Error(
      ErrorKind::kInvalidArgument,
      fmt::format("the adapter is {}, expected the id of a mounted adapter, ID@STRENGTH, several joined "
                  "by +, or none",
                  io::in_quotes(part)));
}

AdapterChoice parse_choice(std::string_view part) {
  const std::size_t at = part.rfind('@');
  AdapterChoice choice{.id = std::string(part.substr(0, at))};
  if (!is_adapter_id(choice.id)) throw bad_choice(part);
  if (at == std::string_view::npos) return choice;
  const char* const end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data() + at + 1, end, choice.strength);
  if (error != std::errc() || stop != end || !(std::abs(choice.strength) <= kMostStrength))
    throw bad_choice(part);
  return choice;
}

}  // namespace

bool is_adapter_id(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kLongestId && text.front() != '.' && text != "none" &&
         std::ranges::all_of(text, is_plain);
}

std::vector<AdapterChoice> parse_adapter_choices(std::string_view text) {
  std::vector<AdapterChoice> choices;
  if (text.empty() || text == "none") return choices;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("+,", begin), text.size());
    choices.push_back(parse_choice(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return choices;
}

bool AdapterSet::is_mounted() const {
  return std::ranges::all_of(pins, [](const auto& pin) { return pin->is_mounted.load(); });
}

}  // namespace lanner::engine
