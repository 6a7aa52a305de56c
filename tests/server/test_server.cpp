// SPDX-License-Identifier: MIT
#include "server/test_server.h"

#include <map>

#include "engine/test_models.h"
#include "server/http_client.h"

namespace lanner::test {

TestServer::TestServer(const std::string& model) : TestServer(model, Options{}) {}

TestServer::TestServer(const std::string& model, Options options) : options_(std::move(options)) {
  options_.serving.http.port = 0;
  options_.serving.signals = server::SignalUse::kLeave;
  serving_ = std::make_unique<server::Serving>(options_.serving, log_);
  if (!model.empty()) load(model);
}

TestServer::~TestServer() {
  serving_->begin_shutdown();
  serving_->hasten_shutdown();
  serving_->wait();
}

void TestServer::load(const std::string& model) { load(tale(model)); }

void TestServer::load(std::shared_ptr<const engine::LoadedModel> model) {
  serving_->set_model(server::serve_model(std::move(model), options_.engine, options_.rules));
}

double TestServer::metric(const std::string& line_start) const {
  const std::string text = http_get(port(), "/metrics").body;
  std::istringstream lines(text);
  double sum = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(line_start)) sum += std::stod(line.substr(line.rfind(' ') + 1));
  return sum;
}

TestServer& shared_server(const std::string& model) {
  static std::map<std::string, std::unique_ptr<TestServer>> servers;
  auto& server = servers[model];
  if (!server) server = std::make_unique<TestServer>(model);
  return *server;
}

}  // namespace lanner::test
