// SPDX-License-Identifier: MIT
#include "server/metrics.h"

#include <fmt/format.h>

namespace lanner::server {
namespace {

const std::vector<double> kWaitBounds = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,
                                         .75,  1,    2.5, 5,   7.5, 10,  20,  40, 80,  160};
const std::vector<double> kTokenGapBounds = {.001, .0025, .005, .01, .025, .05, .075, .1,
                                             .15,  .2,    .3,   .4,  .5,   .75, 1,    2.5};
const std::vector<double> kWholeBounds = {.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10, 15,
                                          20, 30, 40, 50, 60,  120, 240, 480, 960};
const std::vector<double> kCountBounds = {1,    2,    5,    10,    20,    50,    100,    200,    500,
                                          1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000};

const std::vector<double>& bounds_of(std::string_view name) {
  if (name == "inter_token_latency_seconds") return kTokenGapBounds;
  if (name == "e2e_request_latency_seconds") return kWholeBounds;
  return name.ends_with("_seconds") ? kWaitBounds : kCountBounds;
}

/// A number as Prometheus reads it, whole where it is whole.
std::string number_text(double value) { return fmt::format("{}", value); }

std::string escaped_label(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

template <typename Map, typename Value>
Value& slot(Map& series, std::string_view name, std::string_view labels, const Value& initial) {
  auto family = series.find(name);
  if (family == series.end()) family = series.try_emplace(std::string(name)).first;
  auto found = family->second.find(labels);
  if (found == family->second.end()) found = family->second.try_emplace(std::string(labels), initial).first;
  return found->second;
}

}  // namespace

void Metrics::set_model_name(std::string name) {
  const std::lock_guard lock(mutex_);
  model_name_ = std::move(name);
}

void Metrics::count(std::string_view name, std::string_view labels, double by) {
  const std::lock_guard lock(mutex_);
  slot(counters_, name, labels, 0.0) += by;
}

void Metrics::observe(std::string_view name, double value, std::string_view labels) {
  const std::lock_guard lock(mutex_);
  slot(histograms_, name, labels, BucketCounts(bounds_of(name))).add(value);
}

std::string Metrics::expose(const std::vector<Gauge>& gauges, const std::vector<Gauge>& counters,
                            const std::vector<GivenHistogram>& histograms) const {
  const std::lock_guard lock(mutex_);
  const std::string model = fmt::format("model_name=\"{}\"", escaped_label(model_name_));
  const auto labelled = [&](const std::string& more) { return more.empty() ? model : model + "," + more; };
  std::string out;
  std::string last;
  const auto line = [&](const char* type, const std::string& name, const std::string& labels, double value) {
    if (name != last) out += fmt::format("# TYPE lanner:{} {}\n", name, type);
    last = name;
    out += fmt::format("lanner:{}{{{}}} {}\n", name, labelled(labels), number_text(value));
  };
  for (const Gauge& gauge : gauges) line("gauge", gauge.name, gauge.labels, gauge.value);
  for (const Gauge& counter : counters) line("counter", counter.name, counter.labels, counter.value);
  for (const auto& [name, series] : counters_)
    for (const auto& [labels, value] : series) line("counter", name, labels, value);
  const auto histogram = [&](const std::string& name, const std::string& labels, const BucketCounts& counts) {
    if (name != last) out += fmt::format("# TYPE lanner:{} histogram\n", name);
    last = name;
    const std::string all = labelled(labels);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < counts.counts().size(); ++i) {
      sum += counts.counts()[i];
      const std::string bound =
          i < counts.bounds().size() ? number_text(counts.bounds()[i]) : std::string("+Inf");
      out += fmt::format("lanner:{}_bucket{{{},le=\"{}\"}} {}\n", name, all, bound, sum);
    }
    out += fmt::format("lanner:{}_sum{{{}}} {}\n", name, all, number_text(counts.sum()));
    out += fmt::format("lanner:{}_count{{{}}} {}\n", name, all, counts.total());
  };
  for (const GivenHistogram& given : histograms) histogram(given.name, given.labels, given.counts);
  for (const auto& [name, series] : histograms_)
    for (const auto& [labels, counts] : series) histogram(name, labels, counts);
  return out;
}

}  // namespace lanner::server
