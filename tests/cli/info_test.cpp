// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cli/command_run.h"
#include "cli/info_text.h"
#include "io/json.h"

namespace lanner::test {
namespace {

io::Json info(const std::filesystem::path& model) {
  const CommandRun run = lanner({"info", model, "--json"});
  CAPTURE(run.log);
  REQUIRE(run.exit_code == 0);
  CHECK(run.log.empty());
  return io::Json::parse(run.out);
}

std::size_t group_count(const io::Json& facts, const std::string& name) {
  std::size_t count = 0;
  for (const io::Json& group : facts["weights"]) count += group["group"] == name ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("info tells family, layers and groups of weights of every kind of model") {
  const io::Json e = info(golden_model("gemma4/g1_e_ple_kvshare"));
  CHECK(e["family"] == "Gemma 4");
  CHECK(e["text"].is_null());
  CHECK(e["layers"]["sliding_attention_sharing_kv"].get<int>() +
            e["layers"]["full_attention_sharing_kv"].get<int>() >
        0);
  for (const char* group :
       {"embeddings", "per-layer embeddings", "per-layer inputs", "attention", "mlp", "norms"})
    CHECK(group_count(e, group) == 1);

  const io::Json moe = info(golden_model("qwen3_5/q3_moe"));
  CHECK(moe["family"] == "Qwen 3.5");
  CHECK(moe["experts"].get<int>() > 0);
  CHECK(moe["layers"]["delta_net"].get<int>() > 0);
  CHECK(moe["cache"]["state_bytes"].get<int>() > 0);
  for (const char* group : {"delta net", "attention", "router", "experts", "shared expert"})
    CHECK(group_count(moe, group) >= 1);
}

TEST_CASE("the groups of weights add up") {
  for (const char* name : {"gemma4/g3_moe", "qwen3_5/q2_dense_grouped_untied"}) {
    CAPTURE(name);
    const io::Json facts = info(golden_model(name));
    std::size_t parameters = 0;
    for (const io::Json& group : facts["weights"]) parameters += group["parameters"].get<std::size_t>();
    CHECK(parameters == facts["parameters"].get<std::size_t>());
    CHECK(facts["kernels"].get<std::string>().starts_with("cpu/"));
    CHECK(group_count(facts, "scalars") <= 2);
  }
}

TEST_CASE("info for people has the same facts and the kernels that --isa asks for") {
  const CommandRun run = lanner({"info", golden_model("gemma4/g3_moe"), "--isa", "reference"});
  CHECK(run.exit_code == 0);
  for (const char* part : {"family          Gemma 4", "layers ", "experts ", "kernels         cpu/reference",
                           "tokenizer       none", "per token", "weights  "}) {
    CAPTURE(part);
    CHECK(run.out.find(part) != std::string::npos);
  }
}

TEST_CASE("info of a trained model shows template, stop tokens and sampling") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::Json facts = info(*model);
  CHECK(facts["text"]["chat_template"]["tools"] == true);
  CHECK(facts["text"]["chat_template"]["thinking_switch"] == true);
  CHECK(facts["text"]["chat_template"]["thinks_by_default"] == false);
  CHECK(facts["text"]["stop_tokens"].size() >= 3);
  CHECK(facts["text"]["sampling"]["top_k"] == 64);
  CHECK(lanner({"info", *model}).out.find("thinks with --think") != std::string::npos);
}

TEST_CASE("counts read well") {
  CHECK(cli::readable_count(999) == "999");
  CHECK(cli::readable_count(2048) == "2.0 k");
  CHECK(cli::readable_count(14'006'784) == "14.01 M");
  CHECK(cli::readable_count(4'300'000'000) == "4.30 B");
}

}  // namespace lanner::test
