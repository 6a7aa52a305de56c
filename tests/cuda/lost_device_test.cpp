// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "device/cuda.h"
#include "engine/collected.h"
#include "engine/device_fit.h"

namespace lanner::test {
namespace {

/// The GPU's operations, of which the next choice of a token writes where no memory is, once armed.
class FaultyCard {
 public:
  static device::Ops open() {
    device::Ops ops = device::cuda_ops(0);
    ops_ = ops;
    ops.sample = sample;
    return ops;
  }
  static void arm() { armed_ = true; }

 private:
  static void sample(device::Stream& stream, std::span<device::SampleResult> out, const Tensor& logits,
                     std::span<const device::SampleJob> jobs) {
    if (armed_.exchange(false)) {
      Tensor nowhere = logits;
      nowhere.data = reinterpret_cast<void*>(0x1000);
      ops_.copy(stream, nowhere, logits);
    }
    ops_.sample(stream, out, logits, jobs);
  }

  static inline device::Ops ops_;
  static inline std::atomic<bool> armed_ = false;
};

engine::Request story(const engine::LoadedModel& model, std::size_t tokens) {
  return {.prompt = model.encode_plain("Once upon a time there was a fox who"),
          .sampling = {.temperature = 1, .seed = 5},
          .max_tokens = tokens,
          .end_of_text = engine::EndOfText::kBanned,
          .form = engine::AnswerForm::kPlain};
}

}  // namespace

TEST_CASE("cuda: loading a model takes no more than planned") {
  const std::filesystem::path folder = std::filesystem::path(LANNER_MODELS_DIR) / "tale-qwen3_5";
  const engine::LoadOptions options{.cuda = 0, .compute = device::Compute::kHalf};
  const device::Ops ops = device::cuda_ops(0);
  const engine::DeviceNeed need = engine::plan_device_need(io::Checkpoint(folder), ops, options);
  // The code of a kernel comes to the card when it first runs, and stays.
  { const engine::LoadedModel first(folder, options); }
  const std::size_t before = device::device_memory(ops)->free_bytes;
  const engine::LoadedModel model(folder, options);
  const std::size_t taken = before - device::device_memory(ops)->free_bytes;
  MESSAGE("planned " << need.load_bytes << " bytes, taken " << taken);
  // The driver hands out pieces of 2 MiB.
  CHECK(taken <= need.load_bytes + (std::size_t{4} << 20));
}

TEST_CASE("cuda: a model is refused before it is loaded when the card has no room for it") {
  const device::Ops ops = device::cuda_ops(0);
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  constexpr std::size_t kLeft = 6 * kMiB;
  std::vector<Buffer> taken;
  for (std::size_t piece : {1024 * kMiB, 64 * kMiB, 2 * kMiB})
    while (device::device_memory(ops)->free_bytes > piece + kLeft) taken.emplace_back(piece, *ops.memory);
  try {
    const engine::LoadedModel model(std::filesystem::path(LANNER_MODELS_DIR) / "tale-gemma4", {.cuda = 0});
    FAIL("it was loaded");
  } catch (const Error& error) {
    MESSAGE(std::string(error.what()));
    CHECK(error.kind() == ErrorKind::kOutOfMemory);
    CHECK(std::string(error.what()).find("bytes of cuda:0") != std::string::npos);
  }
}

// The last: the card is of no use to the process afterwards where its driver gives no new context.
TEST_CASE("cuda: an illegal access fails the running request; the engine loads again, or goes on trying") {
  const auto model =
      std::make_shared<engine::LoadedModel>(std::filesystem::path(LANNER_MODELS_DIR) / "tale-gemma4",
                                            engine::LoadOptions{.open_device = FaultyCard::open});
  engine::Engine engine(model, {});
  const auto want = collect(engine.require(story(*model, 40))).tokens();
  FaultyCard::arm();
  const Collected failed = collect(engine.require(story(*model, 900)));
  REQUIRE(failed.failure.has_value());
  MESSAGE(failed.failure->message);
  CHECK(failed.failure->kind == engine::FailureKind::kDeviceLost);
  CHECK(engine.stats().device_losses == 1);
  for (int i = 0; i < 500 && engine.stats().recovering; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!engine.stats().recovering) {
    CHECK(collect(engine.require(story(*model, 40))).tokens() == want);
    return;
  }
  MESSAGE("not opened anew: " << engine.stats().recovery_reason);
  const auto refused = engine.submit(story(*model, 5));
  REQUIRE(std::holds_alternative<engine::Refusal>(refused));
  CHECK(std::get<engine::Refusal>(refused).kind == engine::RefusalKind::kDeviceLost);
  CHECK(engine.drain(std::chrono::seconds(20)));
}

}  // namespace lanner::test
