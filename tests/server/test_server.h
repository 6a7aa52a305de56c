// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "engine/engine_options.h"
#include "server/serving.h"

namespace lanner::test {

/// A server in this process, on a free port of the loopback.
class TestServer {
 public:
  struct Options {
    server::ServingOptions serving = {};
    engine::EngineOptions engine = {.threads = 2};
    server::RequestRules rules = {.model = "tale"};
  };

  /// Serves a tale model ("tale-gemma4", "tale-qwen3_5"); empty = none yet.
  explicit TestServer(const std::string& model);
  TestServer(const std::string& model, Options options);
  ~TestServer();

  std::uint16_t port() const { return serving_->port(); }
  server::Serving& serving() { return *serving_; }
  void load(const std::string& model);
  void load(std::shared_ptr<const engine::LoadedModel> model);
  /// One number of /metrics; 0 when it is not there.
  double metric(const std::string& line_start) const;

 private:
  Options options_;
  std::ostringstream log_;
  std::unique_ptr<server::Serving> serving_;
};

/// Waits until `condition` holds; false when it does not within `patience`.
template <typename Condition>
bool eventually(Condition condition, std::chrono::milliseconds patience = std::chrono::seconds(10)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

/// One server of that model for all tests that need nothing else.
TestServer& shared_server(const std::string& model);

}  // namespace lanner::test
