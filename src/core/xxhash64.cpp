// SPDX-License-Identifier: MIT
#include "core/xxhash64.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lanner {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;

template <typename Word>
std::uint64_t read(const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

std::uint64_t round_of(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

void add_stripe(std::uint64_t* lanes, const std::byte* from) {
  for (std::size_t i = 0; i < 4; ++i) lanes[i] = round_of(lanes[i], read<std::uint64_t>(from + 8 * i));
}

std::uint64_t merge_lanes(const std::uint64_t* lanes) {
  std::uint64_t hash =
      std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
  for (std::size_t i = 0; i < 4; ++i) hash = (hash ^ round_of(0, lanes[i])) * kPrime1 + kPrime4;
  return hash;
}

}  // namespace

void Xxhash64::add(std::span<const std::byte> bytes) {
  total_ += bytes.size();
  if (tail_size_ > 0) {
    const std::size_t taken = std::min(kStripe - tail_size_, bytes.size());
    std::copy_n(bytes.begin(), taken, tail_ + tail_size_);
    tail_size_ += taken;
    bytes = bytes.subspan(taken);
    if (tail_size_ < kStripe) return;
    add_stripe(lanes_, tail_);
    tail_size_ = 0;
  }
  for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe)) add_stripe(lanes_, bytes.data());
  std::copy(bytes.begin(), bytes.end(), tail_);
  tail_size_ = bytes.size();
}

std::uint64_t Xxhash64::value() const {
  std::uint64_t hash = (total_ >= kStripe ? merge_lanes(lanes_) : kPrime5) + total_;
  const std::byte* at = tail_;
  const std::byte* const end = tail_ + tail_size_;
  for (; end - at >= 8; at += 8)
    hash = std::rotl(hash ^ round_of(0, read<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  for (; end - at >= 4; at += 4)
    hash = std::rotl(hash ^ read<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
  for (; at != end; ++at) hash = std::rotl(hash ^ static_cast<std::uint64_t>(*at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace lanner
