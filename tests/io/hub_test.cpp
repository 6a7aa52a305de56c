// SPDX-License-Identifier: MIT
#include "io/hub.h"

#include <doctest/doctest.h>

#include "io/temporary_folder.h"

namespace lanner::io {
namespace {

/// A hub with org/name downloaded at revision main (snapshot "abc123"), its files links into blobs/.
void write_hub(const TemporaryFolder& hub) {
  hub.write("models--org--name/refs/main", "abc123\n");
  hub.write("models--org--name/blobs/0f", "{}");
  std::filesystem::create_directories(hub.path() / "models--org--name/snapshots/abc123");
  std::filesystem::create_symlink("../../blobs/0f",
                                  hub.path() / "models--org--name/snapshots/abc123/config.json");
}

}  // namespace

TEST_CASE("hub_folders lists the configured caches, most specific first") {
  using Paths = std::vector<std::filesystem::path>;
  CHECK(hub_folders({}).empty());
  CHECK(hub_folders({.hf_hub_cache = "/h", .hf_home = "/f", .xdg_cache_home = "/x", .home = "/u"}) ==
        Paths{"/h", "/f/hub", "/x/huggingface/hub", "/u/.cache/huggingface/hub"});
}

TEST_CASE("resolve_folder takes an existing path as it is") {
  const TemporaryFolder folder;
  CHECK(resolve_folder(folder.path(), {}) == folder.path());
}

TEST_CASE("resolve_folder finds a downloaded model by id, by revision and in the second cache") {
  const TemporaryFolder empty, hub;
  write_hub(hub);
  const std::filesystem::path snapshot = hub.path() / "models--org--name/snapshots/abc123";
  CHECK(resolve_folder("org/name", {empty.path(), hub.path()}) == snapshot);
  CHECK(resolve_folder("org/name@main", {hub.path()}) == snapshot);
  CHECK(resolve_folder("org/name@abc123", {hub.path()}) == snapshot);
  CHECK(std::filesystem::file_size(snapshot / "config.json") == 2);
}

TEST_CASE("resolve_folder says where it looked") {
  const TemporaryFolder first, second;
  CHECK(
      error_of(ErrorKind::kNotFound,
               [&] {
                 resolve_folder("org/none", {first.path(), second.path()});
               }) ==
      "org/none: no such folder, and no downloaded model of that name in the Hugging Face cache (looked for "
      "models--org--none in " +
          first.path().string() + ", " + second.path().string() + "); download it first or give a path");
  CHECK(error_of(ErrorKind::kNotFound, [] { resolve_folder("none", {}); }) ==
        "none: no such folder, and no downloaded model of that name in the Hugging Face cache (looked for "
        "models--none "
        "in no folder); download it first or give a path");
}

TEST_CASE("resolve_folder does not take a path for an id") {
  for (const char* text :
       {"/none/x", "../none", "a/b/c", "./none", "org/../name", "org/", "-x/y", "org/na me"}) {
    CAPTURE(text);
    CHECK(error_of(ErrorKind::kNotFound, [&] { resolve_folder(text, {"/nowhere"}); }) ==
          std::string(text) + ": no such file or folder");
  }
  CHECK(error_of(ErrorKind::kInvalidArgument, [] { resolve_folder("", {}); }) ==
        "the model folder is an empty text, expected a path");
}

TEST_CASE("resolve_folder reports a cache entry that is incomplete or points outside") {
  const TemporaryFolder hub;
  write_hub(hub);
  const std::string entry = hub.path() / "models--org--name";
  CHECK(error_of(ErrorKind::kNotFound, [&] { resolve_folder("org/name@v2", {hub.path()}); }) ==
        "org/name@v2: " + entry + " has no snapshot of revision \"v2\"; the download may be incomplete");
  hub.write("models--org--name/refs/main", "../../..");
  CHECK(error_of(ErrorKind::kCorrupt, [&] { resolve_folder("org/name", {hub.path()}); }) ==
        entry + "/refs/main: holds \"../../..\", expected the name of a snapshot");
}

}  // namespace lanner::io
