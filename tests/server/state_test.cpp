// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "io/file_size_limit.h"
#include "io/temporary_folder.h"
#include "server/http_client.h"
#include "server/state_folder.h"
#include "server/test_server.h"

namespace lanner::test {
namespace {

TestServer::Options state_options(const io::TemporaryFolder& folder) {
  TestServer::Options options;
  options.serving.service.state_folder = folder.path();
  return options;
}

}  // namespace

TEST_CASE("names of states are plain, and nothing outside the folder can be named") {
  for (const char* name : {"a", "A.b_c-9", "x..y"}) CHECK(server::StateFolder::is_name(name));
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string(".a"), std::string("a/b"),
        std::string("/etc/passwd"), std::string("a\\b"), std::string("a\0b", 3), std::string("a b"),
        std::string("\xc3\xa4"), std::string(129, 'a'), std::string("a\n")}) {
    CAPTURE(name);
    CHECK_FALSE(server::StateFolder::is_name(name));
  }
  const io::TemporaryFolder folder;
  TestServer server("tale-gemma4", state_options(folder));
  for (const char* route : {"/v1/state/save", "/v1/state/load"})
    for (const char* name : {"../x", "/tmp/x", "", "..", "a/b", "%2e%2e%2fx"}) {
      const HttpReply reply = http_post(server.port(), route, {{"name", name}, {"tokens", {5, 6}}});
      CHECK(reply.status == 400);
      CHECK(reply.json()["error"]["param"] == "name");
    }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a request's state is saved while it runs and after it, loaded, and continued the same") {
  for (const char* model : {"tale-gemma4", "tale-qwen3_5"}) {
    CAPTURE(model);
    const io::TemporaryFolder folder;
    const Json story{{"messages", {{{"role", "user"}, {"content", "Tell me a long story."}}}},
                     {"ignore_eos", true},
                     {"max_tokens", 150},
                     {"temperature", 1},
                     {"seed", 1},
                     {"stream", true}};
    TestServer server(model, state_options(folder));
    Socket socket(server.port());
    socket.send(post_text("/v1/chat/completions", story.dump(), "X-Request-Id: story\r\n"));
    REQUIRE(socket.wait_for("data: "));
    const auto save = [&](const char* name) {
      return http_post(server.port(), "/v1/state/save", {{"name", name}, {"request_id", "story"}});
    };
    const HttpReply early = save("early");
    CHECK(early.status == 200);
    CHECK(socket.reply().complete);
    const HttpReply late = save("late");
    REQUIRE(late.status == 200);
    CHECK(late.json()["tokens"].get<int>() >= early.json()["tokens"].get<int>());
    CHECK(std::filesystem::file_size(folder.path() / "late.state") ==
          late.json()["bytes"].get<std::size_t>());
    CHECK(http_post(server.port(), "/v1/state/load", {{"name", "late"}}).json()["tokens"] ==
          late.json()["tokens"]);
    CHECK(http_post(server.port(), "/v1/state/load", {{"name", "early"}}).status == 200);
  }
}

TEST_CASE(
    "a disk that takes no more is told of by the state's name and the reason, and the old state stays") {
  const io::TemporaryFolder folder;
  TestServer server("tale-gemma4", state_options(folder));
  const auto save = [&] {
    return http_post(server.port(), "/v1/state/save", {{"name", "mine"}, {"tokens", {5, 6, 7}}});
  };
  const auto load = [&] { return http_post(server.port(), "/v1/state/load", {{"name", "mine"}}).status; };
  REQUIRE(save().status == 200);
  {
    const io::FileSizeLimit full(100);
    const HttpReply reply = save();
    CHECK(reply.status == 503);
    CHECK(reply.header("retry-after"));
    const Json error = reply.json()["error"];
    CHECK(error["code"] == "storage_failed");
    CHECK(error["message"].get<std::string>().starts_with("mine.state: cannot write: the file would exceed"));
  }
  CHECK(load() == 200);
  std::filesystem::remove_all(folder.path());
  CHECK(save().status == 503);
}

TEST_CASE("states that cannot be saved or loaded are refused with a reason") {
  const HttpReply none = http_post(shared_server("tale-gemma4").port(), "/v1/state/load", {{"name", "a"}});
  CHECK(none.status == 501);
  const io::TemporaryFolder folder;
  TestServer server("tale-gemma4", state_options(folder));
  const auto code = [&](const char* route, const Json& body) {
    const HttpReply reply = http_post(server.port(), route, body);
    return std::to_string(reply.status) + " " + reply.json()["error"]["code"].get<std::string>();
  };
  CHECK(code("/v1/state/load", {{"name", "none"}}) == "404 not_found");
  CHECK(code("/v1/state/load", Json::object()) == "400 missing_field");
  CHECK(code("/v1/state/save", {{"name", "a"}}) == "400 missing_field");
  CHECK(code("/v1/state/save", {{"name", "a"}, {"tokens", {5}}, {"request_id", "x"}}) == "400 invalid_value");
  CHECK(code("/v1/state/save", {{"name", "a"}, {"tokens", Json::array()}}) == "400 invalid_value");
  CHECK(code("/v1/state/save", {{"name", "a"}, {"request_id", "gone"}}) == "404 not_found");
  CHECK(code("/v1/state/save", {{"name", "a"}, {"tokens", std::vector<int>(100000, 5)}}) ==
        "400 context_length_exceeded");
  folder.write("bad.state", "LANKV001 but nothing else");
  CHECK(code("/v1/state/load", {{"name", "bad"}}) == "409 state_mismatch");
  REQUIRE(http_post(server.port(), "/v1/state/save", {{"name", "mine"}, {"tokens", {5, 6, 7}}}).status ==
          200);
  TestServer other("tale-qwen3_5", state_options(folder));
  const HttpReply mismatch = http_post(other.port(), "/v1/state/load", {{"name", "mine"}});
  CHECK(mismatch.status == 409);
  CHECK(mismatch.body.find(folder.path().native()) == std::string::npos);
  CHECK_THROWS(server::StateFolder(folder.path() / "missing"));
}

}  // namespace lanner::test
