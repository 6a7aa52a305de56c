// SPDX-License-Identifier: MIT
#include "engine/pooling.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.h"
#include "io/json.h"

namespace lanner::engine {

std::optional<Pooling> declared_pooling(const io::Checkpoint& checkpoint) {
  const std::string name = "1_Pooling/config.json";
  const std::filesystem::path file = checkpoint.folder() / name;
  if (!std::filesystem::exists(file)) return std::nullopt;
  const io::Json json = io::load_json(file);
  if (!json.is_object())
    throw Error(ErrorKind::kCorrupt, name + ": the file is " + io::describe(json) + ", expected an object");
  std::string modes;
  for (const auto& [key, value] : json.items())
    if (key.starts_with("pooling_mode_") && value == true) modes += (modes.empty() ? "" : ", ") + key;
  if (modes == "pooling_mode_lasttoken") return Pooling::kLast;
  if (modes == "pooling_mode_mean_tokens") return Pooling::kMean;
  throw Error(ErrorKind::kUnsupported,
              name + ": asks for " + (modes.empty() ? "no mode" : modes) +
                  ", expected pooling_mode_lasttoken or pooling_mode_mean_tokens alone");
}

bool PooledHidden::wants(std::size_t index) const {
  return index >= next_ && (pooling_ == Pooling::kMean || index + 1 == prompt_tokens_);
}

void PooledHidden::add(std::size_t index, std::span<const float> hidden) {
  sum_.resize(hidden.size());
  for (std::size_t i = 0; i < hidden.size(); ++i) sum_[i] += double(hidden[i]);
  next_ = index + 1;
}

std::vector<float> PooledHidden::result() const {
  if (next_ < prompt_tokens_) return {};
  const double count = pooling_ == Pooling::kMean ? double(prompt_tokens_) : 1;
  std::vector<float> values(sum_.size());
  std::ranges::transform(sum_, values.begin(), [&](double sum) { return static_cast<float>(sum / count); });
  return values;
}

std::vector<float> unit_vector(std::span<const float> values, std::size_t dimensions) {
  const std::size_t kept = dimensions == 0 ? values.size() : std::min(dimensions, values.size());
  std::vector<float> unit(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(kept));
  double squares = 0;
  for (const float value : unit) squares += double(value) * double(value);
  const double length = std::sqrt(squares);
  if (length > 0)
    for (float& value : unit) value = static_cast<float>(double(value) / length);
  return unit;
}

}  // namespace lanner::engine
