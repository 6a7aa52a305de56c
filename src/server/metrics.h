// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/bucket_counts.h"

namespace lanner::server {

/// A measured value of a moment, for one exposition.
struct Gauge {
  std::string name;
  std::string labels = {};  ///< `kind="full"`, or nothing
  double value = 0;
};

/// A histogram kept elsewhere, for one exposition.
struct GivenHistogram {
  std::string name;
  std::string labels;
  BucketCounts counts;
};

/// Counters and histograms in the text format of Prometheus (0.0.4). Names have the prefix "lanner:" and the
/// label model_name. May be used from any thread.
class Metrics {
 public:
  explicit Metrics(std::string model_name) : model_name_(std::move(model_name)) {}

  void set_model_name(std::string name);
  /// `labels` as they are written: `reason="auth"`.
  void count(std::string_view name, std::string_view labels = {}, double by = 1);
  /// Into the histogram's buckets: seconds for names in _seconds, else counts.
  void observe(std::string_view name, double value, std::string_view labels = {});
  /// `counters`, `histograms`: values counted elsewhere. Those of one name must follow each other.
  std::string expose(const std::vector<Gauge>& gauges, const std::vector<Gauge>& counters,
                     const std::vector<GivenHistogram>& histograms) const;

 private:
  template <typename Value>
  using Series = std::map<std::string, std::map<std::string, Value, std::less<>>, std::less<>>;

  mutable std::mutex mutex_;
  std::string model_name_;
  Series<double> counters_;
  Series<BucketCounts> histograms_;
};

}  // namespace lanner::server
