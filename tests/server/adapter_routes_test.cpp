// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>

#include "adapter_recipe.h"
#include "engine/test_models.h"
#include "io/temporary_folder.h"
#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;

/// Two adapters of the Gemma tale in a folder of their own, "pirate" and "poet", and one beside it, "secret".
struct Adapters {
  io::TemporaryFolder place;
  fs::path folder = place.path() / "adapters";
  fs::path outside = place.path() / "secret";

  Adapters() {
    const auto& targets = tale("tale-gemma4")->model().facts().targets;
    write_adapter(folder / "pirate", {.seed = 1}, targets);
    write_adapter(folder / "poet", {.seed = 2, .form = AdapterForm::kMlx}, targets);
    write_adapter(outside, {.seed = 3}, targets);
  }
};

const Adapters& adapters() {
  static const Adapters all;
  return all;
}

TestServer::Options with_folder(std::vector<std::string> admin_keys = {}) {
  TestServer::Options options;
  options.serving.service.adapter_folder = adapters().folder;
  options.serving.admin_keys = std::move(admin_keys);
  return options;
}

HttpReply http_send(std::uint16_t port, const std::string& method, const std::string& path, const Json& body,
                    const std::string& headers = {}) {
  Socket socket(port);
  std::string text = post_text(path, body.is_null() ? "" : body.dump(), headers);
  text.replace(0, 4, method);
  socket.send(text);
  return socket.reply();
}

Json chat(const Json& more = Json::object()) {
  Json body{{"messages", {{{"role", "user"}, {"content", "Tell me a story about a fox and a king."}}}},
            {"max_tokens", 12},
            {"temperature", 0},
            {"ignore_eos", true}};
  if (!more.is_null()) body.update(more);
  return body;
}

std::string content(const HttpReply& reply) {
  CAPTURE(reply.body);
  REQUIRE(reply.status == 200);
  return reply.json()["choices"][0]["message"]["content"];
}

std::string code(const HttpReply& reply) {
  return std::to_string(reply.status) + " " + reply.json()["error"]["code"].get<std::string>();
}

void mount(const TestServer& server, const std::string& id) {
  CHECK(http_post(server.port(), "/v1/adapters", {{"id", id}, {"path", id}}).status == 201);
}

}  // namespace

TEST_CASE("adapters are mounted, listed, changed and unmounted") {
  TestServer server("tale-gemma4", with_folder());
  const std::uint16_t port = server.port();
  CHECK(http_get(port, "/v1/adapters").json()["adapters"].empty());
  const HttpReply reply = http_post(port, "/v1/adapters", {{"id", "pirate"}, {"path", "pirate"}});
  CHECK(reply.status == 201);
  const Json made = reply.json();
  CHECK(made["id"] == "pirate");
  CHECK(made["path"] == (adapters().folder / "pirate").string());
  CHECK(made["rank"] == 4);
  CHECK(made["scale"] == 1.0);
  CHECK(made["size_bytes"].get<int>() > 0);
  CHECK(made["mounted_layers"] == tale("tale-gemma4")->model().cache_layers().size());
  CHECK(made["content_hash"].get<std::string>().size() == 16);
  CHECK(made["in_use"] == 0);
  CHECK(std::ranges::count(made["targets"], Json("self_attn.q_proj")) == 1);
  CHECK(http_get(port, "/v1/adapters").json()["adapters"] == Json::array({made}));
  CHECK(http_get(port, "/stats").json()["adapter_bytes"] == made["size_bytes"]);
  CHECK(http_get(port, "/fit").json()["adapter_bytes"] == made["size_bytes"]);

  const Json available = http_get(port, "/v1/adapters/available").json()["adapters"];
  CHECK(available ==
        Json::parse(R"([{"path":"pirate","mounted_as":["pirate"]},{"path":"poet","mounted_as":[]}])"));
  CHECK(http_post(port, "/v1/adapters", {{"id", "pirate"}, {"path", "pirate"}}).status == 200);
  CHECK(code(http_post(port, "/v1/adapters", {{"id", "pirate"}, {"path", "poet"}})) == "409 adapter_exists");

  const HttpReply changed = http_send(port, "PATCH", "/v1/adapters/pirate", {{"scale", 0.25}});
  CHECK(changed.status == 200);
  CHECK(changed.json()["scale"] == 0.25);
  CHECK(code(http_send(port, "PATCH", "/v1/adapters/pirate", Json::object())) == "400 missing_field");
  CHECK(code(http_send(port, "PATCH", "/v1/adapters/pirate", {{"scale", "x"}})) == "400 invalid_type");
  CHECK(code(http_send(port, "PATCH", "/v1/adapters/ghost", {{"scale", 1}})) == "404 adapter_not_found");

  CHECK(code(http_send(port, "DELETE", "/v1/adapters/ghost", nullptr)) == "404 adapter_not_found");
  CHECK(http_send(port, "DELETE", "/v1/adapters/pirate", nullptr).status == 200);
  CHECK(http_get(port, "/v1/adapters").json()["adapters"].empty());

  CHECK(http_post(port, "/v1/load_lora_adapter", {{"lora_name", "p"}, {"lora_path", "poet"}}).status == 201);
  CHECK(http_get(port, "/v1/adapters").json()["adapters"][0]["id"] == "p");
  CHECK(http_post(port, "/v1/unload_lora_adapter", {{"lora_name", "p"}}).status == 200);
  CHECK(code(http_post(port, "/v1/unload_lora_adapter", {{"lora_name", "p"}})) == "404 adapter_not_found");
}

TEST_CASE("a request chooses adapters by field or by the model's name, on every generating route") {
  TestServer server("tale-gemma4", with_folder());
  const std::uint16_t port = server.port();
  mount(server, "pirate");
  mount(server, "poet");
  const auto answer = [&](const Json& more) {
    return content(http_post(port, "/v1/chat/completions", chat(more)));
  };
  const std::string base = answer({}), pirate = answer({{"adapter", "pirate"}});
  const std::string both = answer({{"adapter", "pirate@0.5+poet"}});
  CHECK(pirate != base);
  CHECK(both != base);
  CHECK(both != pirate);
  CHECK(answer({{"adapter", "none"}}) == base);
  CHECK(answer({{"model", "tale:pirate"}}) == pirate);
  CHECK(answer({{"model", "tale:pirate"}, {"adapter", "none"}}) == base);
  CHECK(answer({{"adapter", Json::array({{{"id", "pirate"}, {"weight", 0.5}}, {{"id", "poet"}}})}}) == both);
  const HttpReply told = http_post(port, "/v1/chat/completions", chat({{"adapter", "pirate@0.5+poet"}}));
  CHECK(told.json()["lanner"]["adapter"] == "pirate@0.5+poet");
  CHECK(http_post(port, "/v1/chat/completions", chat()).json()["lanner"]["adapter"] == nullptr);

  const auto differs = [&](const char* path, Json body, const auto& text_of) {
    CAPTURE(path);
    const std::string plain = text_of(http_post(port, path, body));
    body["adapter"] = "pirate";
    CHECK(text_of(http_post(port, path, body)) != plain);
    CHECK(server.metric("lanner:lora_requests_total{model_name=\"tale\",adapter=\"pirate\"") > 0);
  };
  differs("/v1/completions", {{"prompt", "Once upon a time"}, {"max_tokens", 12}, {"temperature", 0}},
          [](const HttpReply& r) { return r.json()["choices"][0]["text"].get<std::string>(); });
  Json message = chat();
  differs("/v1/messages", message, [](const HttpReply& r) { return r.json()["content"].dump(); });
  differs("/v1/responses",
          {{"input", "Tell me a story about a fox."}, {"max_output_tokens", 12}, {"temperature", 0}},
          [](const HttpReply& r) { return r.json()["output"][0]["content"].dump(); });

  for (const char* bad : {"ghost", "pirate+ghost"})
    CHECK(code(http_post(port, "/v1/chat/completions", chat({{"adapter", bad}}))) == "404 adapter_not_found");
  CHECK(code(http_post(port, "/v1/chat/completions", chat({{"model", "tale:ghost"}}))) ==
        "404 adapter_not_found");
  for (const char* bad : {"pirate@", "+", "a b"})
    CHECK(code(http_post(port, "/v1/chat/completions", chat({{"adapter", bad}}))) == "400 invalid_value");
  CHECK(code(http_post(port, "/v1/chat/completions", chat({{"adapter", 3}}))) == "400 invalid_type");
  CHECK(code(http_post(port, "/v1/chat/completions", chat({{"adapter", Json::array({{{"weight", 1}}})}}))) ==
        "400 missing_field");
}

TEST_CASE("adapters are models of their own in the list, and counted") {
  TestServer server("tale-gemma4", with_folder());
  mount(server, "pirate");
  mount(server, "poet");
  const Json models = http_get(server.port(), "/v1/models").json()["data"];
  REQUIRE(models.size() == 3);
  CHECK(models[0]["id"] == "tale");
  CHECK(models[0]["adapters"] == Json::array({"pirate", "poet"}));
  CHECK(models[1]["id"] == "tale:pirate");
  CHECK(models[1]["parent"] == "tale");
  CHECK(http_get(server.port(), "/v1/models/tale:poet").json()["id"] == "tale:poet");
  CHECK(http_get(server.port(), "/v1/models/tale:ghost").status == 404);
  http_post(server.port(), "/v1/chat/completions", chat({{"adapter", "pirate+poet"}}));
  http_post(server.port(), "/v1/chat/completions", chat({{"adapter", "poet"}}));
  CHECK(server.metric("lanner:lora_requests_total{model_name=\"tale\",adapter=\"pirate\"") == 1);
  CHECK(server.metric("lanner:lora_requests_total{model_name=\"tale\",adapter=\"poet\"") == 2);
  CHECK(server.metric("lanner:lora_requests_info{model_name=\"tale\",adapter=\"poet\"") == 0);
  CHECK(http_get(server.port(), "/metrics")
            .body.find("lora_requests_info{model_name=\"tale\",adapter=\"pirate\"} 0") != std::string::npos);
}

TEST_CASE("the server's default adapter is used unless a request says otherwise") {
  TestServer::Options options = with_folder();
  options.rules.adapters = {{.id = "pirate"}};
  TestServer server("tale-gemma4", options);
  CHECK(code(http_post(server.port(), "/v1/chat/completions", chat())) == "404 adapter_not_found");
  mount(server, "pirate");
  const auto answer = [&](const Json& more) {
    return content(http_post(server.port(), "/v1/chat/completions", chat(more)));
  };
  CHECK(answer({}) == answer({{"adapter", "pirate"}}));
  CHECK(answer({}) != answer({{"adapter", "none"}}));
}

TEST_CASE("adapters that do not fit are 400 with the names at fault, and nothing is mounted") {
  TestServer server("tale-gemma4", with_folder());
  const std::uint16_t port = server.port();
  const fs::path wrong = adapters().folder / "wrong";
  write_adapter(wrong, {}, tale("tale-qwen3_5")->model().facts().targets);
  const HttpReply reply = http_post(port, "/v1/adapters", {{"id", "wrong"}, {"path", "wrong"}});
  CHECK(code(reply) == "400 adapter_invalid");
  const std::string message = reply.json()["error"]["message"];
  CHECK(message.find("adapter_model.safetensors") != std::string::npos);
  fs::remove_all(wrong);
  CHECK(code(http_post(port, "/v1/adapters", {{"id", "x"}, {"path", "missing"}})) == "400 adapter_invalid");
  for (const char* id : {"", "a/b", "..", "a+b", "none", "a@1"})
    CHECK(code(http_post(port, "/v1/adapters", {{"id", id}, {"path", "pirate"}})) == "400 invalid_value");
  CHECK(code(http_post(port, "/v1/adapters", {{"id", "a"}, {"path", std::string("pirate\0x", 8)}})) ==
        "400 invalid_value");
  CHECK(code(http_post(port, "/v1/adapters", {{"id", "a"}})) == "400 missing_field");
  CHECK(code(http_post(port, "/v1/adapters", {{"id", "a"}, {"path", "pirate"}, {"scale", 1e9}})) ==
        "400 invalid_value");
  CHECK(http_get(port, "/v1/adapters").json()["adapters"].empty());
}

TEST_CASE("places outside the folder of adapters are an administrator's") {
  {
    TestServer server("tale-gemma4", with_folder());
    fs::create_directory_symlink(adapters().outside, adapters().folder / "link");
    for (const std::string& path :
         {adapters().outside.string(), std::string("../secret"), std::string("link"), std::string("/etc"),
          std::string("pirate/../../secret")})
      CHECK(code(http_post(server.port(), "/v1/adapters", {{"id", "s"}, {"path", path}})) ==
            "403 admin_required");
    fs::remove(adapters().folder / "link");
    CHECK(http_post(server.port(), "/v1/adapters",
                    {{"id", "p"}, {"path", (adapters().folder / "poet").string()}})
              .status == 201);
  }
  TestServer::Options plain;
  TestServer without("tale-gemma4", plain);
  CHECK(code(http_post(without.port(), "/v1/adapters",
                       {{"id", "p"}, {"path", (adapters().folder / "poet").string()}})) ==
        "403 admin_required");
}

TEST_CASE("with administrators' keys, only those change adapters and states") {
  const io::TemporaryFolder states;
  TestServer::Options options = with_folder({"root"});
  options.serving.api_keys = {"user"};
  options.serving.service.state_folder = states.path();
  TestServer server("tale-gemma4", options);
  const std::uint16_t port = server.port();
  const std::string user = "x-api-key: user\r\n", root = "Authorization: Bearer root\r\n";
  const Json poet{{"id", "p"}, {"path", "poet"}};
  CHECK(code(http_post(port, "/v1/adapters", poet)) == "401 invalid_api_key");
  CHECK(code(http_post(port, "/v1/adapters", poet, user)) == "403 admin_required");
  CHECK(http_post(port, "/v1/adapters", poet, root).status == 201);
  CHECK(http_post(port, "/v1/adapters", {{"id", "s"}, {"path", adapters().outside.string()}}, root).status ==
        201);
  CHECK(code(http_send(port, "PATCH", "/v1/adapters/p", {{"scale", 2}}, user)) == "403 admin_required");
  CHECK(code(http_send(port, "DELETE", "/v1/adapters/p", nullptr, user)) == "403 admin_required");
  CHECK(code(http_post(port, "/v1/unload_lora_adapter", {{"lora_name", "p"}}, user)) == "403 admin_required");
  CHECK(http_get(port, "/v1/adapters", user).json()["adapters"].size() == 2);
  CHECK(http_post(port, "/v1/chat/completions", chat({{"adapter", "p"}}), user).status == 200);
  CHECK(code(http_post(port, "/v1/state/save", {{"name", "a"}, {"tokens", {5, 6}}}, user)) ==
        "403 admin_required");
  CHECK(
      http_post(port, "/v1/state/save", {{"name", "a"}, {"tokens", {5, 6}}, {"adapter", "p"}}, root).status ==
      200);
  CHECK(code(http_post(port, "/v1/state/load", {{"name", "a"}}, root)) == "409 state_mismatch");
  CHECK(http_post(port, "/v1/state/load", {{"name", "a"}, {"adapter", "p"}}, root).status == 200);
}

TEST_CASE("an adapter in use is not unmounted unless the client waits for its end") {
  TestServer server("tale-gemma4", with_folder());
  const std::uint16_t port = server.port();
  mount(server, "pirate");
  Socket socket(port);
  socket.send(post_text("/v1/chat/completions",
                        chat({{"adapter", "pirate"}, {"max_tokens", 300}, {"stream", true}}).dump()));
  REQUIRE(socket.wait_for("data: "));
  CHECK(code(http_send(port, "DELETE", "/v1/adapters/pirate", nullptr)) == "409 adapter_in_use");
  CHECK(http_get(port, "/v1/adapters").json()["adapters"][0]["in_use"] == 1);
  const HttpReply waited = http_send(port, "DELETE", "/v1/adapters/pirate?wait=1", nullptr);
  CHECK(waited.status == 200);
  CHECK(waited.json()["unmounted"] == true);
  CHECK(socket.reply().complete);
  CHECK(code(http_post(port, "/v1/chat/completions", chat({{"adapter", "pirate"}}))) ==
        "404 adapter_not_found");
  mount(server, "pirate");
  CHECK(http_send(port, "DELETE", "/v1/adapters/pirate?wait=1", nullptr).status == 200);
}

}  // namespace lanner::test
