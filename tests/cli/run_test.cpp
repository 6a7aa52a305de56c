// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cli/command_run.h"
#include "io/json.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

constexpr const char* kTales[] = {"tale-gemma4", "tale-qwen3_5"};

std::vector<std::string> greedy(const std::string& model, const std::string& prompt,
                                const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"run", model, "-p", prompt, "--temp", "0", "-n", "24", "--no-think"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("run writes the answer to standard output and one line of statistics to standard error") {
  for (const char* name : kTales) {
    const auto model = tale_model(name);
    if (!model) continue;
    CAPTURE(name);
    const CommandRun run = lanner(greedy(*model, "Tell me a fairy tale."));
    CAPTURE(run.log);
    REQUIRE(run.exit_code == 0);
    CHECK(run.out.find("Once upon a time") != std::string::npos);
    CHECK(run.out.ends_with('\n'));
    CHECK(run.out.find('\x1b') == std::string::npos);
    CHECK(run.log.starts_with("prompt "));
    CHECK(run.log.find("tok/s") != std::string::npos);
    CHECK(run.log.find("load ") != std::string::npos);
    CHECK(run.log.find("seed") == std::string::npos);  // greedy has none
  }
}

TEST_CASE("run --json is one object with text, tokens, reason, seed and timings") {
  for (const char* name : kTales) {
    const auto model = tale_model(name);
    if (!model) continue;
    CAPTURE(name);
    const CommandRun plain = lanner(greedy(*model, "Tell me a fairy tale."));
    const CommandRun run = lanner(greedy(*model, "Tell me a fairy tale.", {"--json"}));
    REQUIRE(run.exit_code == 0);
    const io::Json json = io::Json::parse(run.out);
    CHECK(json["text"].get<std::string>() + "\n" == plain.out);
    CHECK(json["tokens"].size() == json["generated_tokens"].get<std::size_t>());
    CHECK(json["finish_reason"] == "length");
    CHECK(json["tool_calls"].is_array());
    CHECK(json["reasoning"] == "");
    CHECK(json["seed"].is_number_unsigned());
    CHECK(json["model"] == model->string());
    CHECK(json["prompt_tokens"].get<int>() > 5);
    for (const char* key : {"load_seconds", "prompt_seconds", "decode_seconds", "first_token_seconds",
                            "total_seconds", "prompt_tokens_per_second", "decode_tokens_per_second"})
      CHECK(json["timings"][key].is_number());
  }
}

TEST_CASE("the same seed gives the same answer, another seed another") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const auto answer = [&](const char* seed, const char* threads) {
    return lanner({"run", *model, "-p", "Tell me a fairy tale.", "--seed", seed, "--temp", "1", "-n", "40",
                   "-t", threads})
        .out;
  };
  CHECK(answer("1", "1") == answer("1", "2"));
  CHECK(answer("1", "1") != answer("2", "1"));
}

TEST_CASE("a random seed is shown and reproduces the answer") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const CommandRun first = lanner({"run", *model, "-p", "Hello", "-n", "20", "--temp", "1"});
  const std::size_t at = first.log.find("seed ");
  REQUIRE(at != std::string::npos);
  std::string seed = first.log.substr(at + 5);
  seed.pop_back();
  CHECK(lanner({"run", *model, "-p", "Hello", "-n", "20", "--temp", "1", "--seed", seed}).out == first.out);
}

TEST_CASE("thoughts are kept apart from the answer") {
  for (const char* name : kTales) {
    const auto model = tale_model(name);
    if (!model) continue;
    CAPTURE(name);
    const std::vector<std::string> ask{"run", *model, "-p",     "What is 9 times 6?", "--temp", "0",
                                       "-n",  "60",   "--think"};
    auto json_ask = ask;
    json_ask.push_back("--json");
    const io::Json json = io::Json::parse(lanner(json_ask).out);
    CHECK_FALSE(json["reasoning"].get<std::string>().empty());
    CHECK(json["text"].get<std::string>().find("54") != std::string::npos);
    CHECK(json["text"].get<std::string>().find('<') == std::string::npos);
    CHECK(json["finish_reason"] == "stop");
    CHECK(lanner(ask).out.find("[thinking]") == std::string::npos);
    auto show = ask;
    show.push_back("--show-thinking");
    CHECK(lanner(show).out.find("[thinking]") == 0);
    const CommandRun dimmed = lanner(ask, {}, {.out = true, .colour = true});
    CHECK(dimmed.out.starts_with("\x1b[2m"));
  }
}

TEST_CASE("a tool call is shown readably and comes as an object in JSON") {
  const io::TemporaryFolder folder;
  const std::string tools = folder.write("tools.json", R"([{"type": "function", "function": {
    "name": "get_weather", "description": "Get the weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "The city."}},
                   "required": ["city"]}}}])");
  for (const char* name : kTales) {
    const auto model = tale_model(name);
    if (!model) continue;
    CAPTURE(name);
    const std::vector<std::string> more{"--tools", tools, "-n", "80"};
    std::vector<std::string> ask{"run",    *model, "-p",        "What's the weather in Paris?",
                                 "--temp", "0",    "--no-think"};
    ask.insert(ask.end(), more.begin(), more.end());
    const CommandRun shown = lanner(ask);
    CAPTURE(shown.log);
    CHECK(shown.out.find("[tool call] get_weather {\"city\":") != std::string::npos);
    ask.push_back("--json");
    const io::Json json = io::Json::parse(lanner(ask).out);
    REQUIRE(json["tool_calls"].size() == 1);
    CHECK(json["tool_calls"][0]["name"] == "get_weather");
    CHECK(json["tool_calls"][0]["arguments"]["city"] == "Paris");
  }
}

TEST_CASE("a stop string ends the answer before itself, wherever tokens end") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const std::string whole = lanner(greedy(*model, "Tell me a fairy tale.")).out;
  const CommandRun run = lanner(greedy(*model, "Tell me a fairy tale.", {"--stop", "pon a t"}));
  CHECK(run.out == whole.substr(0, whole.find("pon a t")) + "\n");
  CHECK(io::Json::parse(lanner(greedy(*model, "Tell me a fairy tale.", {"--stop", "pon a t", "--json"}))
                            .out)["finish_reason"] == "stop");
}

TEST_CASE("ignore-eos goes on to the limit; a bias forbids a token") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::Json json = io::Json::parse(
      lanner({"run", *model, "-p", "What is 9 times 6?", "--temp", "0", "-n", "64", "--ignore-eos", "--json"})
          .out);
  CHECK(json["generated_tokens"] == 64);
  CHECK(json["finish_reason"] == "length");
  const io::Json free = io::Json::parse(lanner(greedy(*model, "Hello", {"--json"})).out);
  const std::string first = std::to_string(free["tokens"][0].get<int>());
  const io::Json bent =
      io::Json::parse(lanner(greedy(*model, "Hello", {"--json", "-l", first + "-inf"})).out);
  CHECK(bent["tokens"][0] != free["tokens"][0]);
  CHECK(lanner(greedy(*model, "Hello", {"-l", "99999+1"})).exit_code == 5);
}

TEST_CASE("a raw prompt is continued without template") {
  const auto model = tale_model("tale-qwen3_5");
  if (!model) return;
  const io::Json json = io::Json::parse(
      lanner({"run", *model, "-p", "Once upon a time", "--raw", "--temp", "0", "-n", "8", "--json"}).out);
  CHECK(json["prompt_tokens"].get<int>() <= 6);
  CHECK(json["text"].get<std::string>().starts_with(","));
}

TEST_CASE("a prompt that does not fit the context is exit code 5 and says both numbers") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  std::string text;
  for (int i = 0; i < 600; ++i) text += "a fox and ";
  const CommandRun run = lanner({"run", *model, "-p", text});
  CHECK(run.exit_code == 5);
  CHECK(is_one_error_line(run.log));
  CHECK(run.log.find("1024") != std::string::npos);
  const CommandRun small = lanner({"run", *model, "-p", "Tell me a fairy tale.", "-c", "8"});
  CHECK(small.exit_code == 5);
  CHECK(small.log.find("holds 8") != std::string::npos);
  const io::Json cut = io::Json::parse(
      lanner({"run", *model, "-p", "Tell me a fairy tale.", "-c", "40", "--temp", "0", "--json"}).out);
  CHECK(cut["prompt_tokens"].get<int>() + cut["generated_tokens"].get<int>() == 40);
  CHECK(cut["finish_reason"] == "length");
  CHECK(lanner({"run", *model, "-p", "Tell me a tale.", "-c", "0", "-n", "1"}).exit_code == 0);
}

TEST_CASE("a system prompt that is not UTF-8 is named as such") {
  const CommandRun run = lanner({"run", "-p", "Hello", "--system", "a\xff"});
  CHECK(run.exit_code == 5);
  CHECK(run.log.find("--system: byte 1 is not UTF-8") != std::string::npos);
}

TEST_CASE("an image is refused with a reason") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const CommandRun run = lanner({"run", *model, "-p", "What is this?", "--image", "cat.png"});
  CHECK(run.exit_code == 5);
  CHECK(is_one_error_line(run.log));
  CHECK(run.log.find("this build runs the text part") != std::string::npos);
}

TEST_CASE("the prompt may come from a file or a pipe") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  const std::string want = lanner(greedy(*model, "Hello there")).out;
  const std::string file = folder.write("prompt.txt", "Hello there\n");
  const std::vector<std::string> rest{"--temp", "0", "-n", "24", "--no-think"};
  const auto with = [&](std::vector<std::string> arguments, const std::string& input) {
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return lanner(arguments, input).out;
  };
  CHECK(with({"run", *model, "-f", file}, "") == want);
  CHECK(with({"run", *model}, "Hello there\n") == want);
  CHECK(with({"run", *model, "-p", "-"}, "Hello there\n") == want);
  CHECK(with({"run", "-m", *model, "-p", "Hello there"}, "") == want);
}

TEST_CASE("without a prompt at a terminal run says how to give one") {
  const CommandRun run = lanner({"run", "folder"}, {}, {.in = true});
  CHECK(run.exit_code == 5);
  CHECK(run.log.find("-p TEXT") != std::string::npos);
}

}  // namespace lanner::test
