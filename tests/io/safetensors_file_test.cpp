// SPDX-License-Identifier: MIT
#include "io/safetensors_file.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "io/safetensors_bytes.h"
#include "io/safetensors_writer.h"
#include "io/temporary_folder.h"
#include "io/text_file.h"

namespace lanner::io {
namespace {

bool is_multiple(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

}  // namespace

TEST_CASE("what SafetensorsWriter writes, SafetensorsFile reads back, in any order and in pieces") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "out.safetensors";
  std::vector<float> floats(10);
  std::iota(floats.begin(), floats.end(), 0.5f);
  const std::array<std::uint8_t, 3> small{1, 2, 3};
  const std::array<std::uint16_t, 1> half{0x3F80};
  SafetensorsWriter writer(path,
                           {{"small", DType::kU8, {3}},
                            {"größe \"q\"\n", DType::kF32, {2, 5}},
                            {"half", DType::kBF16, {}},
                            {"none", DType::kF32, {0, 7}}},
                           {{"format", "mlx"}});
  writer.append_values<std::uint8_t>("small", small);
  writer.append_values<float>("größe \"q\"\n", std::span(floats).first(3));
  writer.append_values<std::uint16_t>("half", half);
  writer.append_values<float>("größe \"q\"\n", std::span(floats).subspan(3));
  CHECK_FALSE(std::filesystem::exists(path));
  writer.finish();
  CHECK(std::filesystem::file_size(path) == writer.file_size_bytes());

  const SafetensorsFile file(path);
  CHECK(file.metadata().at("format") == "mlx");
  CHECK(file.tensors().size() == 4);
  const HeldTensor held = load_tensor(file.require("größe \"q\"\n"));
  CHECK(held.tensor.shape == Shape{2, 5});
  CHECK(std::equal(floats.begin(), floats.end(), held.tensor.floats().begin()));
  CHECK(std::memcmp(file.require("small").bytes.data(), small.data(), 3) == 0);
  CHECK(file.require("half").shape.rank() == 0);
  CHECK(file.require("none").bytes.empty());
  CHECK(file.find("nothing") == nullptr);
  CHECK(error_of(ErrorKind::kCorrupt, [&] { file.require("nothing"); }) ==
        "out.safetensors: tensor \"nothing\" is missing");
}

TEST_CASE(
    "SafetensorsWriter aligns the data section to 64 bytes and every tensor to its element, without gaps") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "out.safetensors";
  for (std::size_t name_size = 1; name_size < 70; ++name_size) {
    const std::string name(name_size, 'n');
    SafetensorsWriter writer(
        path, {{"bytes", DType::kU8, {7}}, {"half", DType::kF16, {3}}, {name, DType::kF64, {2}}});
    writer.append("bytes", bytes_of("1234567"));
    writer.append("half", bytes_of("123456"));
    writer.append(name, bytes_of("1234567812345678"));
    writer.finish();
    const SafetensorsFile file(path);
    const std::byte* first = file.require(name).bytes.data();
    CHECK((first - file.mapping()->bytes().data()) % 64 == 0);
    CHECK(file.require("half").bytes.data() == first + 16);
    CHECK(file.require("bytes").bytes.data() == first + 22);
    CHECK(file.mapping()->bytes().data() + file.mapping()->bytes().size() == first + 29);
  }
}

TEST_CASE("SafetensorsWriter refuses bad names and misuse, and leaves no file behind") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "out.safetensors";
  const auto declare = [&](std::vector<TensorDeclaration> tensors) {
    SafetensorsWriter writer(path, tensors);
  };
  CHECK(error_of(ErrorKind::kInvalidArgument, [&] {
          declare({{"w", DType::kU8, {1}}, {"w", DType::kU8, {1}}});
        }) == "out.safetensors: tensor name \"w\" is used twice");
  CHECK(error_of(ErrorKind::kInvalidArgument, [&] {
          declare({{"__metadata__", DType::kU8, {1}}});
        }) == "out.safetensors: tensor name \"__metadata__\" is reserved by the format");
  CHECK(error_of(ErrorKind::kInvalidArgument, [&] {
          declare({{"\xff", DType::kU8, {1}}});
        }) == "out.safetensors: name \"\\xff\" is not UTF-8");
  {
    SafetensorsWriter writer(path, {{"w", DType::kU8, {2}}});
    CHECK(error_of(ErrorKind::kInternal, [&] { writer.append("v", bytes_of("x")); }) ==
          "out.safetensors: tensor \"v\" was not declared");
    CHECK(error_of(ErrorKind::kInternal, [&] { writer.append("w", bytes_of("xyz")); }) ==
          "out.safetensors: tensor \"w\" receives 3 bytes, but only 2 are left of its size");
    writer.append("w", bytes_of("x"));
    CHECK(error_of(ErrorKind::kInternal, [&] { writer.finish(); }) ==
          "out.safetensors: tensor \"w\" lacks 1 bytes");
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("load_tensor works in place when aligned and copies when not; both outlive the file object") {
  const TemporaryFolder folder;
  const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::array<float, 2> values{1.5f, -2.0f};
  const std::string data(reinterpret_cast<const char*>(values.data()), sizeof values);
  for (std::size_t padding = 0; padding < 8; ++padding) {
    CAPTURE(padding);
    const auto path = folder.write("w.safetensors", framed(header + std::string(padding, ' '), data));
    HeldTensor held, wide;
    bool in_place = false;
    {
      const SafetensorsFile file(path);
      const TensorEntry& entry = file.require("w");
      held = load_tensor(entry);
      wide = load_tensor(entry, 64);
      in_place = held.tensor.data == entry.bytes.data();
      CHECK(in_place == is_multiple(entry.bytes.data(), 4));
    }
    CHECK(is_multiple(held.tensor.data, 4));
    CHECK(is_multiple(wide.tensor.data, 64));
    CHECK(held.tensor.floats()[0] == 1.5f);
    CHECK(wide.tensor.floats()[1] == -2.0f);
  }
}

TEST_CASE("expect_shape names file, tensor, found, expected and why") {
  const TemporaryFolder folder;
  const SafetensorsFile file(folder.write(
      "a.safetensors", framed(R"({"w":{"dtype":"U8","shape":[2,1],"data_offsets":[0,2]}})", "xy")));
  const TensorEntry& entry = file.require("w");
  CHECK_NOTHROW(expect_shape(entry, {2, 1}, ""));
  CHECK(error_of(ErrorKind::kCorrupt, [&] {
          expect_shape(entry, {4, 1}, "hidden_size 4 in config.json");
        }) == "a.safetensors: tensor \"w\" has shape [2, 1], expected [4, 1] (hidden_size 4 in config.json)");
  CHECK(error_of(ErrorKind::kCorrupt, [&] { expect_shape(entry, {2}, ""); }) ==
        "a.safetensors: tensor \"w\" has shape [2, 1], expected [2]");
}

TEST_CASE("is_03 a damaged file is refused with its name when opened from disk") {
  const TemporaryFolder folder;
  const auto path = folder.write("bad.safetensors", framed(1ull << 40, "{}"));
  CHECK(error_of(ErrorKind::kCorrupt, [&] { SafetensorsFile file(path); }) ==
        "bad.safetensors: header length is 1099511627776, expected at most 100000000; is this a safetensors "
        "file?");
}

}  // namespace lanner::io
