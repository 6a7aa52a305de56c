// SPDX-License-Identifier: MIT
// What keys do in a chat at a terminal.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/command_run.h"
#include "cli/terminal_program.h"
#include "io/temporary_folder.h"

namespace lanner::test {
namespace {

constexpr const char* kCtrlA = "\x01";
constexpr const char* kCtrlC = "\x03";
constexpr const char* kPrompt = "> ";

/// A chat whose history is in `folder`.
TerminalProgram chat_at_terminal(const std::string& model, const io::TemporaryFolder& folder) {
  ::setenv("XDG_STATE_HOME", folder.path().c_str(), 1);
  return TerminalProgram({"chat", model, "-t", "1", "--seed", "7"});
}

}  // namespace

TEST_CASE(
    "Ctrl-C at any moment after Enter stops an answer or takes the message back, and the chat goes on") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  TerminalProgram chat = chat_at_terminal(*model, folder);
  REQUIRE(chat.read_until(kPrompt));
  for (int round = 0; round < 4; ++round) {
    for (const int delay_us : {0, 500, 1000, 2000, 4000, 20'000}) {
      CAPTURE(delay_us);
      chat.type("Tell me a story\r");
      std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
      chat.type(kCtrlC);
      REQUIRE(chat.read_until(kPrompt));
      chat.type("/reset\r");
      REQUIRE(chat.read_until("is forgotten."));
      REQUIRE(chat.read_until(kPrompt));
    }
  }
  chat.type("/quit\r");
  CHECK(chat.wait() == 0);
}

TEST_CASE("Ctrl-C twice at the prompt leaves a chat with 130") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  TerminalProgram chat = chat_at_terminal(*model, folder);
  REQUIRE(chat.read_until(kPrompt));
  chat.type(kCtrlC);
  REQUIRE(chat.read_until("Ctrl-C again or Ctrl-D leaves."));
  REQUIRE(chat.read_until(kPrompt));
  chat.type(kCtrlC);
  CHECK(chat.wait() == 130);
}

TEST_CASE("Ctrl-C takes a line of several rows away from its first row as from its last") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  TerminalProgram chat = chat_at_terminal(*model, folder);
  REQUIRE(chat.read_until(kPrompt));
  chat.type(std::string(319, 'x') + "y");  // with the prompt 4 rows of 80 and 2 characters
  REQUIRE(chat.read_until("y"));
  chat.type(kCtrlA);
  REQUIRE(chat.read_until("\x1b[4A"));
  chat.type(kCtrlC);
  const auto redrawn = chat.read_until(kPrompt);
  REQUIRE(redrawn);
  CAPTURE(*redrawn);
  CHECK(std::ranges::count(*redrawn, '\n') == 5);
  chat.type("/quit\r");
  CHECK(chat.wait() == 0);
}

TEST_CASE("Ctrl-C with other keys right behind it is heard") {
  const auto model = tale_model("tale-gemma4");
  if (!model) return;
  const io::TemporaryFolder folder;
  TerminalProgram chat = chat_at_terminal(*model, folder);
  REQUIRE(chat.read_until(kPrompt));
  chat.type("never sent \xc3\xa9");
  REQUIRE(chat.read_until("\xc3\xa9"));
  chat.type("\x03x");
  REQUIRE(chat.read_until(kPrompt));
  REQUIRE(chat.read_until("x"));  // until then the terminal itself might take the next key
  chat.type("\x15/quit\r");
  CHECK(chat.wait() == 0);
}

}  // namespace lanner::test
