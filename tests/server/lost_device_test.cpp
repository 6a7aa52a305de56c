// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <filesystem>

#include "engine/losable_device.h"
#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::test {

TEST_CASE("a lost device: requests get 503 device_lost, /health tells of it, and the server goes on") {
  TestServer server("");
  CHECK(http_get(server.port(), "/health").status == 503);
  const auto model =
      std::make_shared<engine::LoadedModel>(std::filesystem::path(LANNER_MODELS_DIR) / "tale-gemma4",
                                            engine::LoadOptions{.open_device = LosableDevice::open});
  server.serving().set_model(server::serve_model(
      model, {.threads = 2, .reload_delay = std::chrono::milliseconds(100)}, {.model = "tale"}));
  const Json body = {{"model", "tale"}, {"prompt", "Once upon a time"}, {"max_tokens", 20}, {"seed", 1}};
  const HttpReply before = http_post(server.port(), "/v1/completions", body);
  CHECK(before.status == 200);
  CHECK(http_get(server.port(), "/health").status == 200);

  LosableDevice::lose(8);
  const HttpReply failed = http_post(server.port(), "/v1/completions", body);
  CHECK(failed.status == 503);
  CHECK(Json::parse(failed.body)["error"]["code"] == "device_lost");
  const HttpReply health = http_get(server.port(), "/health");
  CHECK(health.status == 503);
  CHECK(Json::parse(health.body)["status"] == "recovering");
  const HttpReply refused = http_post(server.port(), "/v1/completions", body);
  CHECK(refused.status == 503);
  CHECK(Json::parse(refused.body)["error"]["code"] == "device_lost");

  LosableDevice::lose(0);
  CHECK(
      eventually([&] { return http_get(server.port(), "/health").status == 200; }, std::chrono::seconds(60)));
  const HttpReply after = http_post(server.port(), "/v1/completions", body);
  CHECK(after.status == 200);
  CHECK(Json::parse(after.body)["choices"] == Json::parse(before.body)["choices"]);
  CHECK(server.metric("lanner:device_losses_total") == 1);
}

}  // namespace lanner::test
