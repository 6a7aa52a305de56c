// SPDX-License-Identifier: MIT
#include "cli/token_ids.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string_view>

namespace lanner::cli {
namespace {

std::string_view without_spaces(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::optional<TokenId> parse_id(std::string_view text) {
  TokenId id = -1;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
  return whole && id >= 0 ? std::optional(id) : std::nullopt;
}

/// Appends the ids of a list to `ids`. CLI11's own delimiter would pass over empty places.
void append_ids(const std::string& name, std::string_view list, std::vector<TokenId>& ids) {
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    const std::string_view item = without_spaces(list.substr(0, comma));
    const auto id = parse_id(item);
    if (!id)
      throw CLI::ValidationError(
          name, fmt::format("\"{}\" is not a token id (a whole number from 0 to {})", item, 0x7fffffff));
    ids.push_back(*id);
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
}

}  // namespace

CLI::Option* add_token_ids(CLI::App& app, const std::string& name, std::vector<TokenId>& ids,
                           const std::string& help) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [name, &ids](const std::vector<std::string>& lists) {
            for (const std::string& list : lists) append_ids(name, list, ids);
          },
          help)
      ->type_name("ID,ID,...")
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace lanner::cli
