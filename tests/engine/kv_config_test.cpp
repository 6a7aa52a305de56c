// SPDX-License-Identifier: MIT
#include "engine/kv_config.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "core/error.h"
#include "engine/loaded_model.h"
#include "io/temporary_folder.h"

namespace lanner::engine {
namespace {

namespace fs = std::filesystem;
using device::KvType;

/// tale-gemma4 with a kv_config.json: 10 layers, full ones at 4 and 9, the last 4 shared.
class Folder {
 public:
  explicit Folder(const std::string& kv_config) {
    for (const auto& file : fs::directory_iterator(fs::path(LANNER_MODELS_DIR) / "tale-gemma4"))
      fs::create_symlink(file.path(), folder_.path() / file.path().filename());
    std::ofstream(folder_.path() / "kv_config.json") << kv_config;
  }
  const fs::path& path() const { return folder_.path(); }

 private:
  io::TemporaryFolder folder_;
};

std::string error_of(const std::string& kv_config) {
  const Folder folder(kv_config);
  try {
    const LoadedModel model(folder.path(), {});
  } catch (const Error& error) {
    return error.what();
  }
  return "loaded";
}

}  // namespace

TEST_CASE(
    "kv_config.json sets the storage of the layers it lists, sliding or full, and --kv-type overrides it") {
  const Folder folder(
      R"([{"layer_idx": 4, "bits": 8, "group_size": 64}, {"layer_idx": 0, "bits": 4, "note": 1},
          {"layer_idx": 9, "bits": 8}])");
  const LoadedModel model(folder.path(), {});
  CHECK(model.cache_spec().kv_type == KvType::kBF16);
  CHECK(model.cache_spec().kv_type_of(0) == KvType::kAffine4);
  CHECK(model.cache_spec().kv_type_of(1) == KvType::kBF16);
  CHECK(model.cache_spec().kv_type_of(4) == KvType::kAffine8);
  CHECK(model.cache_spec().kv_type_of(9) == KvType::kBF16);  // shared: it reads layer 4
  const LoadedModel exact(folder.path(), {.kv_type = KvType::kF32});
  for (std::size_t layer = 0; layer < 10; ++layer)
    CHECK(exact.cache_spec().kv_type_of(layer) == KvType::kF32);
}

TEST_CASE("a kv_config.json that cannot be followed is refused by field, found and expected") {
  CHECK(error_of(R"({"0": 4})").find("kv_config.json: the file is an object, expected an array") !=
        std::string::npos);
  CHECK(error_of("[4]").find("kv_config.json: [0] is 4") != std::string::npos);
  CHECK(error_of(R"([{"layer_idx": 10, "bits": 4}])").find("[0].layer_idx is 10") != std::string::npos);
  CHECK(error_of(R"([{"layer_idx": 1, "bits": 4}, {"layer_idx": 1, "bits": 8}])")
            .find("layer 1 is listed twice") != std::string::npos);
  CHECK(error_of(R"([{"layer_idx": 1, "bits": 3}])").find("asks for 3 bits in groups of 64") !=
        std::string::npos);
  CHECK(error_of(R"([{"layer_idx": 1, "bits": 4, "group_size": 32}])").find("in groups of 32") !=
        std::string::npos);
}

}  // namespace lanner::engine
