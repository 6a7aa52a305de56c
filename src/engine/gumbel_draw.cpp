// SPDX-License-Identifier: MIT
#include "engine/gumbel_draw.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "core/philox.h"
#include "core/portable_math.h"

namespace lanner::engine {
namespace {

constexpr std::uint32_t kDrawStream = 0;
constexpr std::size_t kTokensPerCounter = 4;
static_assert(kPhiloxRun * kTokensPerCounter == kLogitBlock);

/// The likeliest comes first: what can then not win needs no logarithms. Its noise exceeds a bar only when u
/// is below exp(-bar), as -ln(1 - u) >= u; the bar is taken a little low for the rounding of exp.
class Draw {
 public:
  Draw(double temperature, const DrawPlace& place) : temperature_(temperature), place_(place) {}

  const Candidate& best() const { return best_; }

  void offer_first(const Candidate& candidate) {
    best_ = candidate;
    best_sum_ = scaled(candidate.value) + gumbel_noise(word_of(candidate.id));
  }

  void offer(const Candidate& candidate, std::uint32_t word) {
    if (may_win(candidate.value) && open_uniform(word) <= most_uniform(candidate.value))
      compare(candidate, word);
  }

  void offer(const Candidate& candidate) {
    if (may_win(candidate.value)) offer(candidate, word_of(candidate.id));
  }

  /// All of a block of which `largest` is the largest value: one bar for all of them tells most to be losers.
  void offer_block(const Survivors& survivors, std::size_t index, float largest) {
    if (!may_win(largest)) return;
    const double most = most_uniform(largest);
    constexpr double kWords = 0x1p32;
    constexpr double kUncapped = 0.99;  // open_uniform() is below 1
    const std::uint32_t last = most < kUncapped ? static_cast<std::uint32_t>(most * kWords)
                                                : std::numeric_limits<std::uint32_t>::max();
    const PhiloxRun words =
        philox4x32_run(place_.seed, counter_of(static_cast<std::uint32_t>(index * kPhiloxRun)));
    const auto block = survivors.logits().block(index);
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::uint32_t word = words[i % kTokensPerCounter][i / kTokensPerCounter];
      if (word > last || block[i] == kNever) continue;
      offer({static_cast<TokenId>(index * kLogitBlock + i), survivors.value_of(block[i])}, word);
    }
  }

 private:
  double scaled(float value) const { return double(value) / temperature_; }

  bool may_win(float value) const {
    constexpr double kMostNoise = 23;  // -ln of the least u
    return !(scaled(value) + kMostNoise < best_sum_);
  }

  /// u of noise that wins is at most this.
  double most_uniform(float value) const {
    constexpr double kMargin = 1 + 1e-9;
    return std::exp(scaled(value) - best_sum_) * kMargin;
  }

  void compare(const Candidate& candidate, std::uint32_t word) {
    const double sum = scaled(candidate.value) + gumbel_noise(word);
    if (sum < best_sum_ || (sum == best_sum_ && candidate.id >= best_.id)) return;
    best_ = candidate;
    best_sum_ = sum;
  }

  // Four tokens share one block of random words; it depends on nothing but seed, position and token.
  std::array<std::uint32_t, 4> counter_of(std::uint32_t group) const {
    return {group, place_.position, kDrawStream, place_.choice};
  }

  std::uint32_t word_of(TokenId id) {
    const auto token = static_cast<std::uint32_t>(id);
    const std::uint32_t group = token / kTokensPerCounter;
    if (group != last_group_) words_ = philox4x32(place_.seed, counter_of(group));
    last_group_ = group;
    return words_[token % kTokensPerCounter];
  }

  double temperature_;
  DrawPlace place_;
  Candidate best_;
  double best_sum_ = 0;
  std::optional<std::uint32_t> last_group_;
  std::array<std::uint32_t, 4> words_{};  ///< of last_group_
};

}  // namespace

Candidate draw(Survivors& survivors, double temperature, const DrawPlace& place) {
  Draw draw(temperature, place);
  draw.offer_first(survivors.top());
  if (survivors.is_whole()) {
    const auto largest = survivors.logits().largest();
    for (std::size_t index = 0; index < largest.size(); ++index)
      if (largest[index] != kNever) draw.offer_block(survivors, index, survivors.value_of(largest[index]));
  } else {
    for (const Candidate& candidate : survivors.all()) draw.offer(candidate);
  }
  return draw.best();
}

}  // namespace lanner::engine
