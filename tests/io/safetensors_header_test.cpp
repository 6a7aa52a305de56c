// SPDX-License-Identifier: MIT
#include "io/safetensors_header.h"

#include <doctest/doctest.h>

#include "io/safetensors_bytes.h"
#include "io/temporary_folder.h"

namespace lanner::io {
namespace {

SafetensorsHeader parse(const std::string& file) {
  return parse_safetensors_header(bytes_of(file), "m.safetensors");
}

std::string corrupt(const std::string& file) {
  return error_of(ErrorKind::kCorrupt, [&] { parse(file); });
}

/// A file of one tensor "w" with the given fields and `data_size` bytes of data.
std::string one(std::string_view fields, std::size_t data_size = 16) {
  return framed("{\"w\":{" + std::string(fields) + "}}", std::string(data_size, '\1'));
}

}  // namespace

TEST_CASE(
    "a header's tensors come sorted by offset, with metadata, padding, gaps and trailing bytes allowed") {
  const SafetensorsHeader header = parse(framed(
      R"({"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},"__metadata__":{"format":"mlx"},)"
      R"("a":{"shape":[2,1],"data_offsets":[0,4],"dtype":"BF16"},"empty":{"dtype":"F32","shape":[0,4],)"
      R"("data_offsets":[9,9]},"scalar":{"dtype":"F32","shape":[],"data_offsets":[12,16]}}   )",
      std::string(20, 'x')));
  REQUIRE(header.tensors.size() == 4);
  CHECK(header.tensors[0].name == "a");
  CHECK(header.tensors[0].dtype == DType::kBF16);
  CHECK(header.tensors[0].shape == Shape{2, 1});
  CHECK(header.tensors[1].name == "b");
  CHECK(header.tensors[3].shape.rank() == 0);
  CHECK(header.metadata.at("format") == "mlx");
}

TEST_CASE("a header may hold no tensors, null metadata, and any dtype lanner knows") {
  CHECK(parse(framed("{}")).tensors.empty());
  CHECK(parse(framed(R"({"__metadata__":null})")).metadata.empty());
  for (const char* dtype : {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "I64", "U64", "I32", "U32",
                            "I16", "U16", "I8", "U8", "BOOL"}) {
    CAPTURE(dtype);
    CHECK_NOTHROW(parse(one(std::string(R"("dtype":")") + dtype + R"(","shape":[0],"data_offsets":[0,0])")));
  }
}

TEST_CASE("a header length that lies is refused before anything is read") {
  CHECK(corrupt("abc") == "m.safetensors: has 3 bytes, expected a safetensors file (at least 10 bytes)");
  CHECK(corrupt(framed(0, "{}")) == "m.safetensors: header length is 0, expected at least 2");
  CHECK(corrupt(framed(1, "{}")) == "m.safetensors: header length is 1, expected at least 2");
  CHECK(corrupt(framed(1ull << 63, "{}")) ==
        "m.safetensors: header length is 9223372036854775808, expected at most 100000000; is this a "
        "safetensors "
        "file?");
  CHECK(corrupt(framed(100'000'001, "{}")) ==
        "m.safetensors: header length is 100000001, expected at most 100000000; is this a safetensors file?");
  CHECK(corrupt(framed(3, "{}")) ==
        "m.safetensors: header length is 3, but only 2 bytes follow; the file is cut short or damaged, "
        "download or "
        "copy it again");
  CHECK(corrupt("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n") ==
        "m.safetensors: is a git-lfs pointer, not the weights; run \"git lfs pull\" or download the file");
}

TEST_CASE("header text that is not the JSON of a header is refused with its position") {
  CHECK(corrupt(framed("[]")) ==
        "m.safetensors: header starts with \"[\", expected \"{\"; is this a safetensors file?");
  CHECK(corrupt(framed("{\"w\":{\"dtype\":\"F"))
            .starts_with("m.safetensors: header line 1, column 17 (byte 17): syntax error while parsing "
                         "value - invalid string: missing "
                         "closing quote"));
  CHECK(corrupt(framed("{\"\xff\":{}}"))
            .starts_with("m.safetensors: header line 1, column 3 (byte 3): syntax error while parsing object "
                         "key - invalid string: "
                         "ill-formed UTF-8 byte"));
  CHECK(corrupt(framed("{} x")).starts_with("m.safetensors: header line 1, column 4 (byte 4): syntax error"));
  CHECK(corrupt(framed(std::string("{}\0\0", 4))) ==
        "m.safetensors: header line 1, column 3 (byte 3): zero byte, expected JSON text");
}

TEST_CASE("nesting deeper than the format has is refused at once, without recursion") {
  const std::string brackets(1'000'000, '[');
  CHECK(corrupt(framed("{\"w\":" + brackets)) ==
        "m.safetensors: tensor \"w\" is an array, expected an object");
  CHECK(corrupt(one("\"shape\":" + brackets)) ==
        "m.safetensors: tensor \"w\": shape holds an array, expected integers >= 0");
  CHECK(corrupt(framed("{\"__metadata__\":{\"a\":" + brackets)) ==
        "m.safetensors: __metadata__ field \"a\" is an array, expected a string");
}

TEST_CASE("a tensor's fields must be present once, of the right type, and known") {
  CHECK(corrupt(framed(R"({"w":3})")) == "m.safetensors: tensor \"w\" is 3, expected an object");
  CHECK(corrupt(framed(R"({"w":null})")) == "m.safetensors: tensor \"w\" is null, expected an object");
  CHECK(corrupt(framed(R"({"__metadata__":3})")) ==
        "m.safetensors: __metadata__ is 3, expected an object of strings");
  CHECK(corrupt(framed(R"({"__metadata__":{"n":3}})")) ==
        "m.safetensors: __metadata__ field \"n\" is 3, expected a string");
  CHECK(corrupt(one(R"("shape":[4],"data_offsets":[0,16])")) ==
        "m.safetensors: tensor \"w\": field \"dtype\" is missing");
  CHECK(corrupt(one(R"("dtype":"F32","data_offsets":[0,16])")) ==
        "m.safetensors: tensor \"w\": field \"shape\" is missing");
  CHECK(corrupt(one(R"("dtype":"F32","shape":[4])")) ==
        "m.safetensors: tensor \"w\": field \"data_offsets\" is missing");
  const std::string one_each = ", expected one each of dtype (a string), shape and data_offsets (arrays)";
  CHECK(corrupt(one(R"("dtype":3)")) == "m.safetensors: tensor \"w\": field \"dtype\" is 3" + one_each);
  CHECK(corrupt(one(R"("shape":"x")")) == "m.safetensors: tensor \"w\": field \"shape\" is \"x\"" + one_each);
  CHECK(corrupt(one(R"("shape":{})")) ==
        "m.safetensors: tensor \"w\": field \"shape\" is an object" + one_each);
  CHECK(corrupt(one(R"("shape":[1],"shape":[1])")) ==
        "m.safetensors: tensor \"w\": field \"shape\" is an array" + one_each);
  CHECK(corrupt(one(R"("strides":[1])")) ==
        "m.safetensors: tensor \"w\": field \"strides\" is an array" + one_each);
  CHECK(corrupt(framed(R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"w":{}})")) ==
        "m.safetensors: tensor \"w\" is listed twice");
}

TEST_CASE("an unknown dtype and too many axes are unsupported, not corrupt") {
  CHECK(error_of(ErrorKind::kUnsupported,
                 [] { parse(one(R"("dtype":"F4","shape":[4],"data_offsets":[0,2])")); }) ==
        "m.safetensors: tensor \"w\": dtype is \"F4\", expected one of F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I64 "
        "U64 I32 U32 "
        "I16 U16 I8 U8 BOOL");
  CHECK(error_of(ErrorKind::kUnsupported, [] {
          parse(one(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1])"));
        }) == "m.safetensors: tensor \"w\": shape has more than 8 axes");
}

TEST_CASE("shapes hold integers >= 0 whose product fits") {
  const auto shape = [](std::string_view extents) {
    return corrupt(one(R"("dtype":"F32","data_offsets":[0,16],"shape":[)" + std::string(extents) + "]"));
  };
  CHECK(shape("-1") == "m.safetensors: tensor \"w\": shape holds -1, expected integers >= 0");
  CHECK(shape("1.5") == "m.safetensors: tensor \"w\": shape holds 1.5, expected integers >= 0");
  CHECK(shape("\"4\"") == "m.safetensors: tensor \"w\": shape holds \"4\", expected integers >= 0");
  CHECK(shape("18446744073709551615") ==
        "m.safetensors: tensor \"w\": shape holds 18446744073709551615, expected integers >= 0");
  CHECK(shape("1099511627776,1099511627776") ==
        "m.safetensors: tensor \"w\": F32 [1099511627776, 1099511627776] is larger than any file");
  CHECK(shape("1000,1000") ==
        "m.safetensors: tensor \"w\": data_offsets [0, 16] hold 16 bytes, expected 4000000 for F32 [1000, "
        "1000]");
}

TEST_CASE("data_offsets are two ordered integers inside the file that match dtype and shape") {
  const auto offsets = [](std::string_view numbers) {
    return corrupt(one(R"("dtype":"F32","shape":[4],"data_offsets":[)" + std::string(numbers) + "]"));
  };
  CHECK(offsets("0") == "m.safetensors: tensor \"w\": data_offsets hold 1 numbers, expected two");
  CHECK(offsets("0,16,32") == "m.safetensors: tensor \"w\": data_offsets hold more than two numbers");
  CHECK(offsets("-1,15") == "m.safetensors: tensor \"w\": data_offsets hold -1, expected two integers >= 0");
  CHECK(offsets("0,1.6e1") ==
        "m.safetensors: tensor \"w\": data_offsets hold 1.6e1, expected two integers >= 0");
  CHECK(offsets("16,0") == "m.safetensors: tensor \"w\": data_offsets [16, 0] end before they begin");
  CHECK(offsets("0,15") ==
        "m.safetensors: tensor \"w\": data_offsets [0, 15] hold 15 bytes, expected 16 for F32 [4]");
  CHECK(offsets("18446744073709551599,18446744073709551615") ==
        "m.safetensors: tensor \"w\": data_offsets [18446744073709551599, 18446744073709551615] need "
        "18446744073709551615 bytes of data, found 16 (file of 116 bytes); the file is cut short or damaged, "
        "download or "
        "copy it again");
}

TEST_CASE("is_02 a file cut short by one byte is refused with found and needed bytes") {
  CHECK(corrupt(one(R"("dtype":"F32","shape":[4],"data_offsets":[0,16])", 15)) ==
        "m.safetensors: tensor \"w\": data_offsets [0, 16] need 16 bytes of data, found 15 (file of 78 "
        "bytes); the file "
        "is cut short or damaged, download or copy it again");
}

TEST_CASE("tensors may touch but not overlap; empty ones overlap nothing") {
  const auto pair = [](std::string_view a, std::string_view b) {
    return framed(R"({"a":{"dtype":"U8","shape":)" + std::string(a) + R"(},"b":{"dtype":"U8","shape":)" +
                      std::string(b) + "}}",
                  std::string(16, 'x'));
  };
  CHECK_NOTHROW(parse(pair(R"([8],"data_offsets":[0,8])", R"([8],"data_offsets":[8,16])")));
  CHECK_NOTHROW(parse(pair(R"([8],"data_offsets":[0,8])", R"([0],"data_offsets":[4,4])")));
  CHECK(corrupt(pair(R"([8],"data_offsets":[4,12])", R"([8],"data_offsets":[0,8])")) ==
        "m.safetensors: tensors \"b\" and \"a\" overlap: data_offsets [0, 8] and [4, 12]");
  CHECK(corrupt(pair(R"([8],"data_offsets":[0,8])", R"([8],"data_offsets":[0,8])")) ==
        "m.safetensors: tensors \"a\" and \"b\" overlap: data_offsets [0, 8] and [0, 8]");
}

}  // namespace lanner::io
