// SPDX-License-Identifier: MIT
#include "cli/validators.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <string>

namespace lanner::cli {
namespace {

template <typename Number>
std::string check(const std::string& text, Number low, Number high, const char* kind) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  // Written so that NaN fails.
  if (result.ec == std::errc() && result.ptr == end && value >= low && value <= high) return {};
  return fmt::format("\"{}\" is not {} from {} to {}", text, kind, low, high);
}

}  // namespace

CLI::Validator number_between(double low, double high) {
  return {[=](std::string& text) { return check(text, low, high, "a number"); }, std::string(), "number"};
}

CLI::Validator whole_between(std::int64_t low, std::int64_t high) {
  return {[=](std::string& text) { return check(text, low, high, "a whole number"); }, std::string(),
          "whole number"};
}

CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? std::string("is empty") : std::string(); },
          std::string(), "text"};
}

CLI::Validator any_64_bits() {
  return {[](std::string& text) {
            return check(text, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(), "a whole number");
          },
          std::string(), "whole number"};
}

CLI::Validator device_name() {
  return {[](std::string& text) {
            if (text == "cpu" || text == "auto") return std::string();
            if (text.starts_with("cuda:") && check(text.substr(5), 0, 99, "a whole number").empty())
              return std::string();
            return fmt::format("\"{}\" is not cpu, auto or cuda:N", text);
          },
          std::string(), "device"};
}

}  // namespace lanner::cli
