// SPDX-License-Identifier: MIT
#include "io/weight_files.h"

#include <doctest/doctest.h>

#include "io/checkpoint.h"
#include "io/checkpoint_folder.h"
#include "io/safetensors_bytes.h"

namespace lanner::io {
namespace {

constexpr const char* kShard1 = "model-00001-of-00002.safetensors";
constexpr const char* kShard2 = "model-00002-of-00002.safetensors";

/// Two shards with tensors a, b and c, and an index that agrees.
void write_sharded(const TemporaryFolder& folder) {
  folder.write("config.json", "{}");
  write_shard(folder, kShard1, {"a", "b"});
  write_shard(folder, kShard2, {"c"});
  write_index(folder, {{"a", kShard1}, {"b", kShard1}, {"c", kShard2}});
}

std::string open_error(ErrorKind kind, const TemporaryFolder& folder) {
  return error_of(kind, [&] { Checkpoint checkpoint(folder.path()); });
}

}  // namespace

TEST_CASE("is_02 with an index only the indexed files count; the rest are side files") {
  const TemporaryFolder folder;
  write_sharded(folder);
  write_shard(folder, "model.safetensors", {"a", "c"}, std::byte{9});  // a stray file with the same names
  write_shard(folder, "mtp.safetensors", {"mtp.x"});
  const Checkpoint checkpoint(folder.path());
  CHECK(checkpoint.weight_files() == std::vector<std::string>{kShard1, kShard2});
  CHECK(checkpoint.side_files() == std::vector<std::string>{"model.safetensors", "mtp.safetensors"});
  CHECK(checkpoint.tensors().size() == 3);
  CHECK(checkpoint.require("c").bytes[0] == std::byte{7});
  CHECK(checkpoint.require("c").file_name() == kShard2);
}

TEST_CASE("is_02 a missing shard is named with the number of tensors it holds") {
  const TemporaryFolder folder;
  write_sharded(folder);
  std::filesystem::remove(folder.path() / kShard1);
  CHECK(open_error(ErrorKind::kNotFound, folder) ==
        folder.path().string() +
            ": model-00001-of-00002.safetensors is missing, which holds 2 of the 3 tensors in "
            "model.safetensors.index.json; the download may be incomplete");
  std::filesystem::remove(folder.path() / kShard2);
  std::filesystem::create_symlink("../blobs/gone",
                                  folder.path() / kShard2);  // a cache whose file was cleaned away
  CHECK(open_error(ErrorKind::kNotFound, folder) ==
        folder.path().string() +
            ": model-00001-of-00002.safetensors, model-00002-of-00002.safetensors are missing, which hold 3 "
            "of the 3 "
            "tensors in model.safetensors.index.json; the download may be incomplete");
}

TEST_CASE("many missing shards are counted, not listed") {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  std::vector<std::pair<std::string, std::string>> entries;
  for (char c = 'a'; c < 'i'; ++c)
    entries.emplace_back(std::string(1, c), std::string(1, c) + ".safetensors");
  write_index(folder, entries);
  CHECK(open_error(ErrorKind::kNotFound, folder) ==
        folder.path().string() +
            ": a.safetensors, b.safetensors, c.safetensors and 5 more are missing, which hold 8 of the 8 "
            "tensors in "
            "model.safetensors.index.json; the download may be incomplete");
}

TEST_CASE("an index that names files outside the folder or no files at all is refused") {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  const std::string expected = ", expected the name of a .safetensors file in the same folder";
  for (const char* name : {"../x.safetensors", "/etc/x.safetensors", "sub/x.safetensors", "x.bin", ".."}) {
    write_index(folder, {{"w", name}});
    CHECK(open_error(ErrorKind::kCorrupt, folder) ==
          "model.safetensors.index.json: weight_map.w is \"" + std::string(name) + "\" (string)" + expected);
  }
  folder.write("model.safetensors.index.json", R"({"weight_map":{"w":3}})");
  CHECK(open_error(ErrorKind::kCorrupt, folder) ==
        "model.safetensors.index.json: weight_map.w is 3 (number)" + expected);
  folder.write("model.safetensors.index.json", R"({"weight_map":{}})");
  CHECK(open_error(ErrorKind::kCorrupt, folder) ==
        "model.safetensors.index.json: weight_map is empty, expected tensor names");
  folder.write("model.safetensors.index.json", R"({"weight_map":[]})");
  CHECK(open_error(ErrorKind::kCorrupt, folder) ==
        "model.safetensors.index.json: weight_map is an array of 0 values, expected an object");
  folder.write("model.safetensors.index.json", "{}");
  CHECK(open_error(ErrorKind::kCorrupt, folder) ==
        "model.safetensors.index.json: weight_map is missing, expected an object");
  folder.write("model.safetensors.index.json", "{");
  CHECK(open_error(ErrorKind::kCorrupt, folder)
            .starts_with("model.safetensors.index.json: line 1, column 2 (byte 2): "));
}

TEST_CASE("an index that disagrees with the shards is refused") {
  const TemporaryFolder folder;
  write_sharded(folder);
  write_index(folder, {{"a", kShard2}, {"b", kShard1}, {"c", kShard2}});
  CHECK(open_error(ErrorKind::kCorrupt, folder) ==
        "model.safetensors.index.json: tensor \"a\" is listed in model-00002-of-00002.safetensors, found in "
        "model-00001-of-00002.safetensors; the folder may mix files of two models");
  write_index(folder, {{"a", kShard1}, {"b", kShard1}, {"c", kShard2}, {"d", kShard2}});
  CHECK(open_error(ErrorKind::kCorrupt, folder) ==
        "model-00002-of-00002.safetensors: tensor \"d\" is missing, which model.safetensors.index.json "
        "promises; the "
        "folder may mix files of two models");
}

TEST_CASE("is_02 a tensor in two files is refused with both names, with and without an index") {
  const TemporaryFolder folder;
  write_sharded(folder);
  write_shard(folder, kShard2, {"b", "c"});
  const std::string message =
      "tensor \"b\" is both in model-00001-of-00002.safetensors and in model-00002-of-00002.safetensors; the "
      "folder may "
      "mix files of two models";
  CHECK(open_error(ErrorKind::kCorrupt, folder) == message);
  std::filesystem::remove(folder.path() / "model.safetensors.index.json");
  CHECK(open_error(ErrorKind::kCorrupt, folder) == message);
}

TEST_CASE("without an index all shards load, and an incomplete set is noticed by its names") {
  const TemporaryFolder folder;
  write_sharded(folder);
  std::filesystem::remove(folder.path() / "model.safetensors.index.json");
  CHECK(Checkpoint(folder.path()).tensors().size() == 3);
  std::filesystem::remove(folder.path() / kShard2);
  CHECK(open_error(ErrorKind::kNotFound, folder) ==
        folder.path().string() + ": holds 1 of 2 weight shards; the download may be incomplete");
}

TEST_CASE("a shard that is a git-lfs pointer is named") {
  const TemporaryFolder folder;
  write_sharded(folder);
  folder.write(kShard2, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
  CHECK(open_error(ErrorKind::kCorrupt, folder) ==
        "model-00002-of-00002.safetensors: is a git-lfs pointer, not the weights; run \"git lfs pull\" or "
        "download the "
        "file");
}

TEST_CASE("a big sharded folder opens with every tensor in its place") {
  constexpr int kShards = 40, kPerShard = 250;
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  std::vector<std::pair<std::string, std::string>> entries;
  for (int shard = 0; shard < kShards; ++shard) {
    const std::string file = "model-" + std::to_string(shard) + ".safetensors";
    std::vector<std::string> names;
    for (int i = 0; i < kPerShard; ++i) {
      names.push_back("model.layers." + std::to_string(i) + ".part" + std::to_string(shard) + ".weight");
      entries.emplace_back(names.back(), file);
    }
    write_shard(folder, file, names, std::byte(shard));
  }
  write_index(folder, entries);
  const Checkpoint checkpoint(folder.path());
  CHECK(checkpoint.tensors().size() == kShards * kPerShard);
  CHECK(checkpoint.tensor_bytes() == kShards * kPerShard * 4);
  CHECK(checkpoint.weight_files().size() == kShards);
  for (int shard = 0; shard < kShards; ++shard) {
    const TensorEntry& entry =
        checkpoint.require("model.layers.249.part" + std::to_string(shard) + ".weight");
    CHECK(entry.bytes[3] == std::byte(shard));
  }
}

}  // namespace lanner::io
