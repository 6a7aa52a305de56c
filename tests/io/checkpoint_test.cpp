// SPDX-License-Identifier: MIT
#include "io/checkpoint.h"

#include <doctest/doctest.h>

#include <optional>

#include "io/checkpoint_folder.h"
#include "io/safetensors_bytes.h"

namespace lanner::io {
namespace {

std::string open_error(ErrorKind kind, const std::filesystem::path& folder) {
  return error_of(kind, [&] { Checkpoint checkpoint(folder); });
}

}  // namespace

TEST_CASE("Checkpoint offers config, tensors and the folder's other files") {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type":"x","text_config":{"hidden_size":8}})");
  folder.write("generation_config.json", R"({"top_k":64})");
  folder.write("tokenizer.json", "{}");
  write_shard(folder, "model.safetensors", {"b", "a"});
  const Checkpoint checkpoint(folder.path());
  CHECK(checkpoint.config_fields().required_object("text_config").required_int("hidden_size") == 8);
  CHECK(checkpoint.tensors()[0].name == "a");
  CHECK(checkpoint.weight_files() == std::vector<std::string>{"model.safetensors"});
  CHECK(checkpoint.side_files().empty());
  CHECK(checkpoint.find("c") == nullptr);
  CHECK(checkpoint.load_generation_config()->at("top_k") == 64);
  CHECK_FALSE(checkpoint.load_kv_config().has_value());
  CHECK(checkpoint.find_file("tokenizer.json") == folder.path() / "tokenizer.json");
  CHECK_FALSE(checkpoint.find_file("chat_template.jinja").has_value());
  CHECK(checkpoint.require_file("tokenizer.json", "") == folder.path() / "tokenizer.json");
}

TEST_CASE("Checkpoint names what is missing") {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  write_shard(folder, "model.safetensors", {"a", "b", "c", "d"});
  const Checkpoint checkpoint(folder.path());
  CHECK(error_of(ErrorKind::kCorrupt, [&] { checkpoint.require("x"); }) ==
        folder.path().string() +
            ": tensor \"x\" is missing (the folder holds 4 tensors, such as \"a\", \"b\", \"c\")");
  CHECK(error_of(ErrorKind::kNotFound,
                 [&] { checkpoint.require_file("tokenizer.json", "to turn text into tokens"); }) ==
        folder.path().string() +
            ": tokenizer.json is missing, which is needed to turn text into tokens; copy it from the "
            "original model");
}

TEST_CASE("tensor entries outlive their Checkpoint") {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  write_shard(folder, "model.safetensors", {"a"});
  std::optional<TensorEntry> entry;
  { entry = Checkpoint(folder.path()).require("a"); }
  std::filesystem::remove(folder.path() / "model.safetensors");
  CHECK(entry->bytes[3] == std::byte{7});
}

TEST_CASE("a config.json that is not a JSON object is refused") {
  const TemporaryFolder folder;
  write_shard(folder, "model.safetensors", {"a"});
  folder.write("config.json", "[]");
  CHECK(open_error(ErrorKind::kCorrupt, folder.path()) ==
        "config.json: the document is an array of 0 values, expected an object");
  folder.write("config.json", "{\"a\":}");
  CHECK(
      open_error(ErrorKind::kCorrupt, folder.path()).starts_with("config.json: line 1, column 6 (byte 6): "));
  std::filesystem::remove(folder.path() / "config.json");
  std::filesystem::create_directory(folder.path() / "config.json");
  CHECK(open_error(ErrorKind::kInvalidArgument, folder.path()) ==
        folder.path().string() + "/config.json: is a folder, expected a file");
}

TEST_CASE("what is given in place of a checkpoint folder is named") {
  const TemporaryFolder folder;
  const std::string root = folder.path();
  CHECK(open_error(ErrorKind::kNotFound, root + "/none") == root + "/none: no such file or folder");
  const std::string advice =
      "lanner reads safetensors checkpoints; get the model's original or MLX folder instead";
  CHECK(open_error(ErrorKind::kUnsupported, folder.write("m.gguf", "GGUF")) ==
        root + "/m.gguf: is a GGUF file; " + advice);
  CHECK(open_error(ErrorKind::kUnsupported, root) ==
        root + ": holds a GGUF file (m.gguf) and no config.json; " + advice);
  CHECK(open_error(ErrorKind::kInvalidArgument, folder.write("model.safetensors", "x")) ==
        root + "/model.safetensors: is a file, expected its folder; give " + root);
  CHECK(open_error(ErrorKind::kInvalidArgument, folder.write("notes.txt", "x")) ==
        root + "/notes.txt: is a file, expected a checkpoint folder");
}

TEST_CASE("a folder without config.json is described by what it holds") {
  const auto describe = [](ErrorKind kind, const std::vector<std::string>& files) {
    const TemporaryFolder folder;
    for (const std::string& file : files) folder.write(file, "x");
    const std::string message = open_error(kind, folder.path());
    REQUIRE(message.starts_with(folder.path().string() + ": "));
    return message.substr(folder.path().string().size() + 2);
  };
  const std::string expected =
      ", expected a checkpoint folder with config.json, *.safetensors and tokenizer.json";
  CHECK(describe(ErrorKind::kNotFound, {}) == "is empty" + expected);
  CHECK(describe(ErrorKind::kNotFound, {"readme.md"}) == "has no config.json" + expected);
  CHECK(describe(ErrorKind::kNotFound, {"model.safetensors"}) ==
        "has weights but no config.json; copy the model's config.json into it");
  CHECK(
      describe(ErrorKind::kInvalidArgument, {"adapter_config.json", "adapters.safetensors"}) ==
      "holds an adapter (adapter_config.json), expected a model (config.json); give its base model's folder");
  CHECK(describe(ErrorKind::kInvalidArgument, {"refs/main", "snapshots/1/config.json"})
            .starts_with("is a Hugging Face cache entry, expected one of its snapshots; give the model's id "
                         "(org/name)"));
}

TEST_CASE("a folder whose weights are missing or of another format is described") {
  const auto describe = [](ErrorKind kind, const std::vector<std::string>& files) {
    const TemporaryFolder folder;
    folder.write("config.json", "{}");
    for (const std::string& file : files) folder.write(file, "x");
    const std::string message = open_error(kind, folder.path());
    REQUIRE(message.starts_with(folder.path().string() + ": "));
    return message.substr(folder.path().string().size() + 2);
  };
  const std::string expected =
      ", expected model.safetensors or shards with model.safetensors.index.json; the download may be "
      "incomplete";
  CHECK(describe(ErrorKind::kNotFound, {}) == "holds no weights" + expected);
  CHECK(describe(ErrorKind::kNotFound, {"mtp.safetensors"}) == "holds only mtp.safetensors" + expected);
  CHECK(describe(ErrorKind::kUnsupported, {"pytorch_model.bin"}) ==
        "weights are PyTorch pickles (pytorch_model.bin), expected safetensors; get the model's safetensors "
        "files or "
        "convert them with save_pretrained");
  CHECK(describe(ErrorKind::kUnsupported, {"m.gguf"}) ==
        "weights are a GGUF file (m.gguf); lanner reads safetensors checkpoints; get the model's original or "
        "MLX folder "
        "instead");
}

TEST_CASE("a git-lfs pointer in place of the weights is named") {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
  CHECK(
      open_error(ErrorKind::kCorrupt, folder.path()) ==
      "model.safetensors: is a git-lfs pointer, not the weights; run \"git lfs pull\" or download the file");
}

}  // namespace lanner::io
