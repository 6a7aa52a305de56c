// SPDX-License-Identifier: MIT
#include "cli/model_folder.h"

#include <doctest/doctest.h>

#include "cli/environment.h"
#include "io/temporary_folder.h"

namespace lanner::cli {

TEST_CASE("without a folder the embedded model is taken from the first place that has it") {
  const io::TemporaryFolder folder;
  folder.write("b/tale-gemma4/config.json", "{}");
  folder.write("c/tale-gemma4/config.json", "{}");
  const ModelPlaces places{.hubs = {},
                           .embedded = {folder.path() / "a", folder.path() / "b", folder.path() / "c"}};
  CHECK(find_model_folder("", places) == folder.path() / "b" / "tale-gemma4");
}

TEST_CASE("without the embedded model the error says where it was looked for") {
  const std::string message = io::error_of(ErrorKind::kNotFound, [] {
    find_model_folder("", {.hubs = {}, .embedded = {"/nowhere/one", "/nowhere/two"}});
  });
  CHECK(message.find("/nowhere/one, /nowhere/two") != std::string::npos);
  CHECK(message.find("LANNER_MODELS_DIR") != std::string::npos);
}

TEST_CASE("embedded models are looked for in the environment's folder, then beside the executable") {
  Environment environment;
  environment.models_folder = "/m";
  environment.executable = "/opt/lanner/bin/lanner";
  const auto folders = embedded_model_folders(environment);
  REQUIRE(folders.size() == 3);
  CHECK(folders[0] == "/m");
  CHECK(folders[1] == "/opt/lanner/share/lanner/models");
}

TEST_CASE("the input history follows the XDG rules") {
  Environment environment;
  CHECK_FALSE(history_file(environment).has_value());
  environment.hub.home = "/home/me";
  CHECK(history_file(environment) == "/home/me/.local/state/lanner/chat_history");
  environment.state_home = "/state";
  CHECK(history_file(environment) == "/state/lanner/chat_history");
}

}  // namespace lanner::cli
