// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "cli/progress_bar.h"
#include "cli/waiting_line.h"

namespace lanner::cli {

TEST_CASE("a progress line fits the terminal") {
  CHECK(progress_line("quantize", 0.5, 12, 80) == "quantize  50% [###############---------------] 12 s left");
  CHECK(progress_line("quantize", 1, 0, 80) == "quantize 100% [##############################] 0 s left");
  for (std::size_t columns = 0; columns < 90; ++columns)
    CHECK(progress_line("quantize", 0.37, 4000, columns).size() <= columns);
}

TEST_CASE("progress is never written to a pipe") {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream log;
  Console console{in, out, log, {}};
  {
    ProgressBar bar(console, "work");
    const WaitingLine line(console, "loading");
    std::this_thread::sleep_for(std::chrono::milliseconds(650));
    bar.update(1, 2);
  }
  CHECK(out.str().empty());
  CHECK(log.str().empty());
}

TEST_CASE("progress shows on a terminal after half a second and is taken away at the end") {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream log;
  Console console{in, out, log, {.log = true}};
  {
    ProgressBar bar(console, "work");
    bar.update(1, 4);
    CHECK(log.str().empty());
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    bar.update(2, 4);
    CHECK(log.str().find("work  50% [") != std::string::npos);
  }
  CHECK(log.str().ends_with("\r\x1b[K"));
  CHECK(out.str().empty());
}

}  // namespace lanner::cli
