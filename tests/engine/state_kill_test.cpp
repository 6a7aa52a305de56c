// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <numeric>

#include "cache/toy_sequence.h"
#include "engine/state_file.h"
#include "io/temporary_folder.h"

namespace lanner::engine {
namespace {

const cache::PrefixKey kToyKey = {.model = "toy", .kv_types = "f32", .adapters = ""};

/// A toy sequence of `length` tokens.
struct Toy {
  explicit Toy(std::size_t length) : ids(length), sequence(cache::toy_spec()) {
    std::iota(ids.begin(), ids.end(), 100);
    forward.append(sequence, ids);
  }
  cache::ToyForward forward;
  std::vector<TokenId> ids;
  cache::SequenceCache sequence;
};

}  // namespace

TEST_CASE("a process killed while it saves a state leaves the old one or the new one, whole") {
  const io::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "x.state";
  const Toy small(70);
  const Toy large(3000);
  const auto save = [&](const Toy& toy) {
    save_state(file, kToyKey, {.ids = toy.ids, .sequence = toy.sequence});
  };
  save(small);
  std::size_t kills = 0;
  for (useconds_t delay_us = 0; delay_us < 60'000; delay_us += 1'500) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        for (;;) {
          save(large);
          save(small);
        }
      } catch (...) {
        ::_exit(1);
      }
    }
    ::usleep(delay_us);
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    ++kills;
    const SavedState state = load_state(file, kToyKey, cache::toy_spec(), cache::BlockPool());
    const bool whole = state.ids == small.ids || state.ids == large.ids;
    CHECK(whole);
    CHECK(state.cache.length() == state.ids.size());
  }
  CHECK(kills == 40);
}

}  // namespace lanner::engine
