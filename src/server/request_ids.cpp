// SPDX-License-Identifier: MIT
#include "server/request_ids.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <random>
#include <system_error>

namespace lanner::server {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kIdLength = 24;
constexpr std::size_t kLongestRequestId = 128;

template <typename Generator>
std::string id_of(std::string_view prefix, Generator& generator) {
  std::string id(prefix);
  std::uniform_int_distribution<std::size_t> letter(0, kAlphabet.size() - 1);
  for (std::size_t i = 0; i < kIdLength; ++i) id += kAlphabet[letter(generator)];
  return id;
}

/// The system's random bytes, at most 256. std::random_device asks the processor for every four, which takes
/// a virtual machine 20 microseconds.
template <std::size_t Count>
std::array<unsigned char, Count> system_random() {
  std::array<unsigned char, Count> bytes;
  if (::getentropy(bytes.data(), bytes.size()) != 0)
    throw std::system_error(errno, std::generic_category(), "getentropy");
  return bytes;
}

}  // namespace

std::string random_id(std::string_view prefix) {
  constexpr std::size_t kFair = 256 / kAlphabet.size() * kAlphabet.size();
  std::string id(prefix);
  for (;;)
    for (const std::size_t byte : system_random<2 * kIdLength>()) {
      if (id.size() == prefix.size() + kIdLength) return id;
      if (byte < kFair) id += kAlphabet[byte % kAlphabet.size()];
    }
}

std::uint64_t random_seed() { return std::bit_cast<std::uint64_t>(system_random<sizeof(std::uint64_t)>()); }

std::string seeded_id(std::string_view prefix, std::uint64_t seed, std::uint64_t choice, std::uint64_t call) {
  std::seed_seq sequence{std::uint32_t(seed), std::uint32_t(seed >> 32), std::uint32_t(choice),
                         std::uint32_t(call)};
  std::mt19937_64 generator(sequence);
  return id_of(prefix, generator);
}

bool is_request_id(std::string_view text) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == ':' || c == '-';
  };
  return !text.empty() && text.size() <= kLongestRequestId && std::ranges::all_of(text, allowed);
}

}  // namespace lanner::server
