// SPDX-License-Identifier: MIT
#include "synthetic/random_words.h"

namespace lanner::synthetic {
namespace {

constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace

RandomWords::RandomWords(std::uint64_t seed, std::string_view name) : state_(mix(seed + kStep)) {
  for (const char c : name) state_ = mix((state_ ^ static_cast<unsigned char>(c)) + kStep);
}

std::uint64_t RandomWords::next() {
  state_ += kStep;
  return mix(state_);
}

float RandomWords::next_float(float low, float high) {
  const auto unit = static_cast<float>(next() >> 40) * 0x1p-24F;
  return low + (high - low) * unit;
}

void RandomWords::fill(std::span<std::uint64_t> words) {
  for (std::uint64_t& word : words) word = next();
}

}  // namespace lanner::synthetic
