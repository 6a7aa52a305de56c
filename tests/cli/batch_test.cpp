// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "cli/command_run.h"
#include "io/json.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

std::string file_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The results of a file by custom_id; a result that is there twice fails the test.
std::map<std::string, io::Json> results(const std::filesystem::path& file) {
  std::map<std::string, io::Json> found;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    io::Json json = io::parse_json(line, "result");
    const std::string id = json["custom_id"];
    CHECK(found.emplace(id, std::move(json)).second);
  }
  return found;
}

std::string chat_line(const std::string& id, const std::string& question, const std::string& more = {}) {
  return R"({"custom_id": ")" + id + R"(", "method": "POST", "url": "/v1/chat/completions", "body": )" +
         R"({"messages": [{"role": "user", "content": ")" + question + R"("}], "temperature": 0, )" +
         R"("max_tokens": 30, "reasoning_effort": "none")" + more + "}}\n";
}

std::vector<std::string> batch(const std::string& model, const std::string& in, const std::string& out) {
  return {"batch", in, out, "-m", model, "-t", "1"};
}

}  // namespace

TEST_CASE("batch answers every line in the form of the API, several at once") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    const auto model = tale_model(name);
    if (!model) continue;
    CAPTURE(name);
    const io::TemporaryFolder folder;
    const std::string in = folder.write(
        "in.jsonl",
        chat_line("sum", "What is 9 times 6?") + "\n" +
            chat_line("tale", "Tell me a fairy tale.", R"(, "n": 1, "logprobs": true, "top_logprobs": 2)") +
            R"({"custom_id": "raw", "url": "/v1/completions", "body": {"prompt": "Once upon a time", )" +
            R"("max_tokens": 5, "temperature": 0}})" + "\n" +
            R"({"custom_id": "bad", "body": {"messages": 3}})" + "\n");
    const std::string out = folder.path() / "out.jsonl";
    const CommandRun run = lanner(batch(*model, in, out));
    CAPTURE(run.log);
    CHECK(run.exit_code == 0);
    CHECK(run.out.empty());
    CHECK(run.log.find("4 of 4 requests are answered; 1 failed") != std::string::npos);
    auto got = results(out);
    REQUIRE(got.size() == 4);
    const io::Json sum = got["sum"]["response"]["body"];
    CHECK(got["sum"]["response"]["status_code"] == 200);
    CHECK(sum["choices"][0]["message"]["content"].get<std::string>().find("54") != std::string::npos);
    CHECK(sum["choices"][0]["finish_reason"] == "stop");
    CHECK(sum["usage"]["total_tokens"] ==
          sum["usage"]["prompt_tokens"].get<int>() + sum["usage"]["completion_tokens"].get<int>());
    const io::Json tale = got["tale"]["response"]["body"]["choices"][0];
    CHECK(tale["finish_reason"] == "length");
    CHECK(tale["logprobs"]["content"][0]["top_logprobs"].size() == 2);
    CHECK(got["raw"]["response"]["body"]["choices"][0]["text"].get<std::string>().starts_with(","));
    CHECK(got["bad"]["response"]["status_code"] == 400);
    CHECK(got["bad"]["error"]["message"].get<std::string>().find("messages") != std::string::npos);
  }
}

TEST_CASE("a batch that was killed keeps what it finished, redoes the rest and takes away a torn line") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  std::string lines;
  constexpr std::size_t kLines = 24;
  for (std::size_t i = 0; i < kLines; ++i)
    lines += chat_line("q" + std::to_string(i), "What is " + std::to_string(i) + " times 3?",
                       R"(, "ignore_eos": true)");
  const std::string in = folder.write("in.jsonl", lines);
  const std::string whole = folder.path() / "whole.jsonl";
  CHECK(lanner(batch(*model, in, whole)).exit_code == 0);

  const std::string out = folder.path() / "out.jsonl";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    lanner(batch(*model, in, out));
    ::_exit(0);
  }
  const auto finished = [&] {
    const std::string text = file_text(out);
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  };
  for (int waited = 0; finished() < 3 && waited < 20000; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::string kept = file_text(out).substr(0, file_text(out).rfind('\n') + 1);
  REQUIRE(finished() >= 3);
  std::ofstream(out, std::ios::app) << R"({"custom_id": "q1)";  // as a kill in the middle of a write leaves

  const CommandRun run = lanner(batch(*model, in, out));
  CHECK(run.exit_code == 0);
  CHECK(file_text(out).starts_with(kept));
  const auto got = results(out);
  const auto want = results(whole);
  REQUIRE(got.size() == kLines);
  for (const auto& [id, result] : want)
    CHECK(got.at(id)["response"]["body"]["choices"] == result["response"]["body"]["choices"]);

  const CommandRun again = lanner(batch(*model, in, out));
  CHECK(again.log.find("24 of 24 requests are answered, 24 of them by an earlier run") != std::string::npos);
}

TEST_CASE("a line that is no request gets status 400 under its number, once, and the others go on") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  const std::string in =
      folder.write("in.jsonl", "not JSON\n" + chat_line("good", "What is 9 times 6?") + "{\"body\": {}}\n" +
                                   R"({"custom_id": "stop", "body": {"messages": [], "stop": 5}})" + "\n");
  const std::string out = folder.path() / "out.jsonl";
  const CommandRun run = lanner(batch(*model, in, out));
  CAPTURE(run.log);
  CHECK(run.exit_code == 0);
  CHECK(run.log.find("4 of 4 requests are answered; 3 failed") != std::string::npos);
  std::map<std::string, io::Json> got;
  std::ifstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    const io::Json json = io::parse_json(line, "result");
    got[json["id"]] = json;
  }
  REQUIRE(got.size() == 4);
  for (const char* bad : {"line-1", "line-3", "line-4"}) CHECK(got[bad]["response"]["status_code"] == 400);
  CHECK(got["line-1"]["custom_id"].is_null());
  CHECK(got["line-1"]["error"]["code"] == "invalid_json");
  CHECK(got["line-3"]["error"]["param"] == "custom_id");
  CHECK(got["line-4"]["error"]["param"] == "messages");
  CHECK(got["line-2"]["response"]["status_code"] == 200);
  CHECK(
      lanner(batch(*model, in, out)).log.find("4 of 4 requests are answered, 4 of them by an earlier run") !=
      std::string::npos);
}

TEST_CASE("a batch reads response formats, structured outputs and tool choices as the server does") {
  const std::string tool =
      R"(, "tools": [{"type": "function", "function": {"name": "look", "parameters": )"
      R"({"type": "object", "properties": {"where": {"type": "string", "maxLength": 4}}, "required": ["where"]}}}])";
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    const auto model = tale_model(name);
    if (!model) continue;
    CAPTURE(name);
    const io::TemporaryFolder folder;
    const std::string in = folder.write(
        "in.jsonl",
        chat_line(
            "format", "Hi",
            R"(, "response_format": {"type": "json_schema", "json_schema": {"schema": {"enum": [[1]]}}})") +
            chat_line("choice", "Hi", R"(, "structured_outputs": {"choice": ["maybe"]})") +
            chat_line("call", "Hi", tool + R"(, "tool_choice": "required", "max_tokens": 60)") +
            chat_line("unknown", "Hi", tool + R"(, "tool_choice": "sometimes")") +
            R"({"custom_id": "two", "url": "/v1/completions", "body": {"prompt": ["a", "b"], "max_tokens": 2}})" +
            "\n");
    const std::string out = folder.path() / "out.jsonl";
    const CommandRun run = lanner(batch(*model, in, out));
    CAPTURE(run.log);
    auto got = results(out);
    REQUIRE(got.size() == 5);
    const auto choice = [&](const char* id) { return got[id]["response"]["body"]["choices"][0]; };
    const std::string shaped = choice("format")["message"]["content"];
    CHECK(io::parse_json(shaped, "content") == io::Json::array({1}));
    CHECK(choice("choice")["message"]["content"] == "maybe");
    CHECK(choice("call")["finish_reason"] == "tool_calls");
    CHECK(choice("call")["message"]["tool_calls"][0]["function"]["name"] == "look");
    CHECK(got["unknown"]["response"]["status_code"] == 400);
    CHECK(got["unknown"]["error"]["param"] == "tool_choice");
    CHECK(got["two"]["response"]["body"]["choices"].size() == 2);
  }
}

TEST_CASE("a batch says which line it cannot use, and refuses a file that is no batch's") {
  const io::TemporaryFolder folder;
  const auto run = [&](const std::string& input, const std::string& output) {
    const std::string in = folder.write("in.jsonl", input);
    const std::string out = folder.write("out.jsonl", output);
    return lanner({"batch", in, out});
  };
  const CommandRun twice = run(chat_line("a", "x") + chat_line("a", "y"), "");
  CHECK(twice.exit_code == 4);
  CHECK(twice.log.find("line 2") != std::string::npos);
  const std::string same = folder.write("same.jsonl", chat_line("a", "x"));
  const CommandRun one = lanner({"batch", same, same});
  CHECK(one.exit_code == 5);
  CHECK(one.log.find("the file with the requests") != std::string::npos);
  CHECK(file_text(same) == chat_line("a", "x"));
  const CommandRun requests = run(chat_line("a", "x"), chat_line("a", "x"));
  CHECK(requests.exit_code == 4);
  CHECK(requests.log.find("response") != std::string::npos);
  CHECK(file_text(folder.path() / "out.jsonl") == chat_line("a", "x"));
  const CommandRun foreign = run(chat_line("a", "x"), "my diary\n");
  CHECK(foreign.exit_code == 4);
  CHECK(file_text(folder.path() / "out.jsonl") == "my diary\n");
  CHECK(lanner({"batch", folder.path() / "none.jsonl", folder.path() / "o"}).exit_code == 3);
}

}  // namespace lanner::test
