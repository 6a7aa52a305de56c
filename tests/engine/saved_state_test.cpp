// SPDX-License-Identifier: MIT
// States of an engine's requests, written to files and read back.
#include <doctest/doctest.h>

#include "core/error.h"
#include "engine/collected.h"
#include "engine/engine.h"
#include "engine/test_models.h"
#include "io/temporary_folder.h"

namespace lanner::engine {
namespace {

std::vector<TokenId> some_ids(std::size_t count) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < count; ++i)
    ids.push_back(static_cast<TokenId>(10 + i * 7 % (test::kRandomVocabulary - 20)));
  return ids;
}

Request continuation(std::size_t prompt) {
  Request request;
  request.prompt = some_ids(prompt);
  request.max_tokens = 16;
  request.top_logprobs = 3;
  request.end_of_text = EndOfText::kBanned;
  request.form = AnswerForm::kPlain;
  return request;
}

std::shared_ptr<const StateImage> state_after(Engine& engine, std::vector<TokenId> ids) {
  Request request;
  request.prompt = std::move(ids);
  request.wants_state = true;
  RequestHandle handle = engine.require(std::move(request));
  std::shared_ptr<const StateImage> image;
  while (auto event = handle.next())
    if (const auto* state = std::get_if<PromptState>(&*event)) image = state->image;
  return image;
}

}  // namespace

TEST_CASE("a prompt starts from a state that another engine saved, and is answered the same") {
  for (const auto& model : test::all_models()) {
    CAPTURE(model->checkpoint().folder().filename().string());
    const io::TemporaryFolder folder;
    const auto file = folder.path() / "a.state";
    test::Collected expected;
    {
      Engine engine(model, {.prefix_bytes = 0});
      expected = test::collect(engine.require(continuation(150)));
      const auto image = state_after(engine, some_ids(130));
      REQUIRE(image);
      CHECK(image->tokens == 130);
      write_state(file, *image);
      CHECK(std::filesystem::file_size(file) == image->size_bytes());
    }
    Engine engine(model, {.threads = 2});
    CHECK(engine.restore_state(file) == 130);
    const test::Collected got = test::collect(engine.require(continuation(150)));
    CHECK(got.timings->cached_tokens == 130);
    CHECK(got.tokens() == expected.tokens());
    for (std::size_t i = 0; i < got.choices[0].logprobs.size(); ++i)
      CHECK(got.choices[0].logprobs[i].token.logprob == expected.choices[0].logprobs[i].token.logprob);
  }
}

TEST_CASE("a state that is damaged, of another model or too large is refused, and the engine goes on") {
  const io::TemporaryFolder folder;
  const auto file = folder.path() / "a.state";
  const auto model = test::tale("tale-gemma4");
  Engine engine(model, {});
  write_state(file, *state_after(engine, some_ids(70)));
  Engine other(test::tale("tale-qwen3_5"), {});
  io::error_of(ErrorKind::kInvalidArgument, [&] { other.restore_state(file); });
  Engine small(model, {.prefix_bytes = 1000});
  CHECK(io::error_of(ErrorKind::kOutOfMemory, [&] { small.restore_state(file); }).find("a.state") !=
        std::string::npos);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  io::error_of(ErrorKind::kCorrupt, [&] { engine.restore_state(file); });
  io::error_of(ErrorKind::kNotFound, [&] { engine.restore_state(folder.path() / "none"); });
  CHECK(test::collect(engine.require(continuation(10))).tokens().size() == 16);
  engine.drain(std::chrono::milliseconds(0));
  io::error_of(ErrorKind::kInvalidArgument, [&] { engine.restore_state(file); });
}

}  // namespace lanner::engine
