// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "adapter_recipe.h"
#include "cli/adapter_arguments.h"
#include "cli/command_run.h"
#include "engine/loaded_model.h"
#include "io/json.h"
#include "io/safetensors_file.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;

void write_two(const fs::path& to, const fs::path& model) {
  const engine::LoadedModel loaded(model, {.isa = detect_isa()});
  write_adapter(to / "a", {.seed = 1}, loaded.model().facts().targets);
  write_adapter(to / "b", {.seed = 2, .form = AdapterForm::kMlx}, loaded.model().facts().targets);
}

}  // namespace

TEST_CASE("an adapter's argument is a folder, perhaps with an id before and a strength behind") {
  const io::TemporaryFolder folder;
  fs::create_directory(folder.path() / "plain");
  fs::create_directory(folder.path() / "x=y@2");
  const std::string at = folder.path().string() + "/";
  const auto check = [](const std::string& text, const std::string& id, const fs::path& where, float scale) {
    CAPTURE(text);
    const cli::NamedAdapter named = cli::parse_named_adapter(text);
    CHECK(named.id == id);
    CHECK(named.folder == where);
    CHECK(named.scale == scale);
  };
  check(at + "plain", "plain", at + "plain", 1);
  check(at + "plain@0.5", "plain", at + "plain", 0.5F);
  check("me=" + at + "plain@-2", "me", at + "plain", -2);
  check("me=" + at + "x=y@2", "me", at + "x=y@2", 1);
  check("me=" + at + "plain@v2", "me", at + "plain@v2", 1);
}

TEST_CASE("run, batch, perplexity and logits compute with adapters") {
  for (const char* name : {"tale-gemma4", "tale-qwen3_5"}) {
    const auto model = tale_model(name);
    if (!model) continue;
    CAPTURE(name);
    const io::TemporaryFolder folder;
    write_two(folder.path(), *model);
    const std::string a = folder.path() / "a", b = folder.path() / "b";
    const auto run = [&](const std::vector<std::string>& more) {
      std::vector<std::string> words = {"run", *model,   "-p", "Tell me a story.", "-n",
                                        "12",  "--temp", "0",  "--ignore-eos"};
      words.insert(words.end(), more.begin(), more.end());
      const CommandRun done = lanner(words);
      CAPTURE(done.log);
      CHECK(done.exit_code == 0);
      return done.out;
    };
    const std::string base = run({}), with_a = run({"--adapter", a});
    CHECK(with_a != base);
    CHECK(run({"--adapter", a + "@0"}) == base);
    CHECK(run({"--adapter", a, "--adapter", b}) != with_a);

    const std::string text =
        folder.write("text.txt", "Once upon a time there was a king who had three sons.\n");
    const auto perplexity = [&](const std::vector<std::string>& more) {
      std::vector<std::string> words = {"perplexity", *model, "-f", text, "--json"};
      words.insert(words.end(), more.begin(), more.end());
      return io::Json::parse(lanner(words).out)["perplexity"].get<double>();
    };
    CHECK(perplexity({"--adapter", a}) > perplexity({}));  // a random one does not help
    CHECK(perplexity({"--adapter", a + "@0"}) == perplexity({}));

    const auto logits = [&](const std::vector<std::string>& more) {
      const std::string out = folder.path() / "out.safetensors";
      std::vector<std::string> words = {"logits", *model, "--ids", "5,6,7", "-o", out};
      words.insert(words.end(), more.begin(), more.end());
      CHECK(lanner(words).exit_code == 0);
      const io::SafetensorsFile file{out};
      const auto bytes = file.require("logits").bytes;
      return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    CHECK(logits({"--adapter", "x=" + a}) != logits({}));

    const auto line = [](const char* id, const io::Json& more) {
      io::Json body{{"prompt", "Once upon a time"}, {"max_tokens", 8}, {"temperature", 0}};
      if (!more.is_null()) body.update(more);
      return io::Json{{"custom_id", id}, {"url", "/v1/completions"}, {"body", body}}.dump() + "\n";
    };
    const std::string in =
        folder.write("in.jsonl", line("default", {}) + line("none", {{"adapter", "none"}}) +
                                     line("b", {{"adapter", "b"}}) + line("c", {{"adapter", "c"}}));
    const std::string out = folder.path() / "out.jsonl";
    CHECK(lanner({"batch", in, out, "-m", *model, "--adapter", a, "--adapter", b}).exit_code == 0);
    std::map<std::string, io::Json> answers;
    std::ifstream lines(out);
    for (std::string text_line; std::getline(lines, text_line);) {
      const io::Json json = io::Json::parse(text_line);
      answers[json["custom_id"]] = json["response"];
    }
    const auto said = [&](const char* id) {
      return answers[id]["body"]["choices"][0]["text"].get<std::string>();
    };
    CHECK(said("default") != said("none"));
    CHECK(said("b") != said("none"));
    CHECK(said("b") != said("default"));
    CHECK(answers["c"].dump().find("there is no adapter") != std::string::npos);
  }
}

TEST_CASE("numbers that an adapter makes infinite end perplexity and logits with its name, as they end run") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  const engine::LoadedModel loaded(*model, {});
  const std::string huge = folder.path() / "huge", out = folder.path() / "out.safetensors";
  write_adapter(huge, {.strength = 1e30F}, loaded.model().facts().targets);
  for (const auto& words : {std::vector<std::string>{"run", *model, "-p", "Hi", "-n", "2"},
                            std::vector<std::string>{"perplexity", *model, "-p", "Once upon a time"},
                            std::vector<std::string>{"logits", *model, "--ids", "5,6,7", "-o", out}}) {
    std::vector<std::string> with = words;
    with.insert(with.end(), {"--adapter", huge});
    const CommandRun done = lanner(with);
    CAPTURE(words[0]);
    CHECK(done.exit_code == 5);
    CHECK(done.out.empty());
    CHECK(done.log.find("with the adapter \"huge\" the model produces numbers that are not finite") !=
          std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("adapters that cannot be used end a command with one line") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  write_two(folder.path(), *model);
  const std::string a = folder.path() / "a";
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--adapter", folder.path() / "missing"},
        std::vector<std::string>{"--adapter", a, "--adapter", a + "@2"},
        std::vector<std::string>{"--adapter", folder.path()}}) {
    std::vector<std::string> words = {"run", *model, "-p", "Hello", "-n", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandRun run = lanner(words);
    CHECK(run.exit_code != 0);
    CAPTURE(run.log);
    CHECK(is_one_error_line(run.log));
  }
}

TEST_CASE("a prompt cache is of its adapters alone") {
  const auto model = tale_model("tale-qwen3_5");
  if (!model) return;
  const io::TemporaryFolder folder;
  write_two(folder.path(), *model);
  const std::string file = folder.path() / "kept.state";
  const auto run = [&](const std::string& adapter) {
    return lanner({"run", *model, "-p", "Tell me a story.", "-n", "4", "--temp", "0", "--adapter",
                   folder.path() / adapter, "--prompt-cache", file, "--json"});
  };
  const io::Json cold = io::Json::parse(run("a").out);
  const io::Json warm = io::Json::parse(run("a").out);
  CHECK(warm["cached_tokens"].get<int>() > 0);
  CHECK(warm["text"] == cold["text"]);
  const CommandRun other = run("b");
  CHECK(other.exit_code != 0);
  CHECK(other.log.find("adapters") != std::string::npos);
}

}  // namespace lanner::test
