// SPDX-License-Identifier: MIT
#include "server/request_ids.h"

#include <unistd.h>

#include <algorithm>
#include <array>
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

/// The system's random numbers, many at a time. std::random_device asks the processor for each, which takes a
/// virtual machine 20 microseconds.
class SystemRandom {
 public:
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return UINT64_MAX; }

  result_type operator()() {
    if (next_ == numbers_.size()) {
      if (::getentropy(numbers_.data(), sizeof(numbers_)) != 0)
        throw std::system_error(errno, std::generic_category(), "getentropy");
      next_ = 0;
    }
    return numbers_[next_++];
  }

 private:
  std::array<std::uint64_t, 32> numbers_{};  // getentropy gives no more at once
  std::size_t next_ = numbers_.size();
};

}  // namespace

std::string random_id(std::string_view prefix) {
  SystemRandom random;
  return id_of(prefix, random);
}

std::uint64_t random_seed() { return SystemRandom()(); }

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
