// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <filesystem>
#include <thread>

#include "engine/collected.h"
#include "engine/device_fit.h"
#include "engine/losable_device.h"

namespace lanner::engine {
namespace {

using test::collect;
using test::Collected;
using test::LosableDevice;

std::shared_ptr<const LoadedModel> model_on_it() {
  return std::make_shared<LoadedModel>(std::filesystem::path(LANNER_MODELS_DIR) / "tale-gemma4",
                                       LoadOptions{.open_device = LosableDevice::open});
}

Request story(const LoadedModel& model, std::size_t tokens) {
  return {.prompt = model.encode_plain("Once upon a time there was a fox who"),
          .sampling = {.temperature = 1, .seed = 5},
          .max_tokens = tokens,
          .end_of_text = EndOfText::kBanned,
          .form = AnswerForm::kPlain};
}

/// Until the engine has answered the first token.
void wait_for_token(RequestHandle& handle) {
  while (auto event = handle.next())
    if (std::holds_alternative<TokenEvent>(*event)) return;
}

}  // namespace

TEST_CASE("a lost device fails the running requests; the engine loads the model again and goes on") {
  const auto model = model_on_it();
  Engine engine(model, {.reload_delay = std::chrono::milliseconds(50)});
  const auto want = collect(engine.require(story(*model, 30))).tokens();
  const int openings = LosableDevice::openings();

  RequestHandle running = engine.require(story(*model, 900));
  RequestHandle other = engine.require(story(*model, 900));
  wait_for_token(running);
  wait_for_token(other);
  LosableDevice::lose(3);
  for (RequestHandle* handle : {&running, &other}) {
    const Collected got = collect(std::move(*handle));
    REQUIRE(got.failure.has_value());
    CHECK(got.failure->kind == FailureKind::kDeviceLost);
    CHECK(got.failure->message ==
          "the device fell off the bus; the device is lost, and the model is being loaded again");
  }
  CHECK(engine.stats().recovering);
  const auto refused = engine.submit(story(*model, 5));
  REQUIRE(std::holds_alternative<Refusal>(refused));
  CHECK(std::get<Refusal>(refused).kind == RefusalKind::kDeviceLost);
  CHECK(std::get<Refusal>(refused).retry_seconds > 0);

  for (int i = 0; i < 1000 && engine.stats().recovering; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(LosableDevice::openings() == openings + 1);
  CHECK(engine.stats().device_losses == 1);
  CHECK(engine.stats().running == 0);
  CHECK(collect(engine.require(story(*model, 30))).tokens() == want);
}

TEST_CASE("an engine whose device stays lost can be shut down") {
  const auto model = model_on_it();
  Engine engine(model, {.reload_delay = std::chrono::milliseconds(50)});
  RequestHandle running = engine.require(story(*model, 900));
  wait_for_token(running);
  LosableDevice::lose(1000000);
  CHECK(collect(std::move(running)).failure->kind == FailureKind::kDeviceLost);
  CHECK(engine.drain(std::chrono::seconds(10)));
  LosableDevice::lose(0);
}

TEST_CASE("a model that a device has no room for is refused with what it needs and what there is") {
  const io::Checkpoint checkpoint(std::filesystem::path(LANNER_MODELS_DIR) / "tale-gemma4");
  const LoadOptions options{.isa = detect_isa()};
  const DeviceNeed need = plan_device_need(checkpoint, device::cpu_ops(options.isa), options);
  CHECK(need.step_bytes > 0);
  require_device_memory(need, "cuda:0", need.total());
  const std::string free = std::to_string(need.total() - 1);
  try {
    require_device_memory(need, "cuda:0", need.total() - 1);
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kOutOfMemory);
    const std::string message = error.what();
    CHECK(message.find("needs " + std::to_string(need.total()) + " bytes of cuda:0") != std::string::npos);
    CHECK(message.find("and " + free + " are free") != std::string::npos);
  }
}

}  // namespace lanner::engine
