// SPDX-License-Identifier: MIT
#include "io/json.h"

#include <doctest/doctest.h>

#include "io/temporary_folder.h"

namespace lanner::io {
namespace {

std::string parse_error(std::string_view text) {
  return error_of(ErrorKind::kCorrupt, [&] { parse_json(text, "config.json"); });
}

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

}  // namespace

TEST_CASE("parse_json reads a document and takes the last of duplicate keys") {
  const Json json = parse_json(R"({"a": 1, "b": [true, null], "a": 2})", "x.json");
  CHECK(json["a"] == 2);
  CHECK(json["b"].size() == 2);
  CHECK(parse_json("\xEF\xBB\xBF{}", "x.json").empty());  // a byte order mark
}

TEST_CASE("parse_json gives line, column and byte of a syntax error") {
  CHECK(parse_error("{\n  \"a\": 1,\n  \"b\": tru\n}") ==
        "config.json: line 3, column 11 (byte 23): syntax error while parsing value - invalid literal; last "
        "read: "
        "'\"b\": tru<U+000A>'");
  CHECK(
      parse_error("{\"a\": 1") ==
      "config.json: line 1, column 8 (byte 8): syntax error while parsing object - unexpected end of input; "
      "expected '}'");
  CHECK(
      parse_error("[1] 2") ==
      "config.json: line 1, column 5 (byte 5): syntax error while parsing value - unexpected number literal; "
      "expected end of input");
}

TEST_CASE("parse_json refuses bytes that are not UTF-8, zero bytes and numbers beyond a double") {
  CHECK(parse_error("[\"\xff\"]")
            .starts_with("config.json: line 1, column 3 (byte 3): syntax error while parsing value - invalid "
                         "string: ill-formed UTF-8"));
  CHECK(parse_error(std::string_view("{}\0x", 4)) ==
        "config.json: line 1, column 3 (byte 3): zero byte, expected JSON text");
  CHECK(parse_error("[1e999]").starts_with("config.json: number overflow parsing '1e999'"));
}

TEST_CASE("parse_json names an empty document and a git-lfs pointer") {
  CHECK(parse_error(" \n") == "config.json: is empty, expected JSON");
  CHECK(parse_error("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n") ==
        "config.json: is a git-lfs pointer, not the file itself; run \"git lfs pull\" or download the file");
}

TEST_CASE("parse_json bounds nesting, however deep, without recursion") {
  CHECK(parse_json(nested(kMaxJsonDepth), "x").is_array());
  const std::string message =
      "config.json: line 1, column 129 (byte 129): arrays and objects are nested deeper than 128 levels";
  CHECK(parse_error(nested(kMaxJsonDepth + 1)) == message);
  CHECK(parse_error(nested(1'000'000)) == message);
  CHECK(parse_json("[\"" + std::string(1000, '[') + "\\\"[\"]", "x").size() == 1);  // brackets in a string
}

TEST_CASE("load_json names the file without its folder in content errors, with it when unreadable") {
  const TemporaryFolder folder;
  CHECK(load_json(folder.write("a.json", "[1]")).size() == 1);
  const std::filesystem::path bad = folder.write("sub/b.json", "[1");
  CHECK(error_of(ErrorKind::kCorrupt, [&] {
          load_json(bad);
        }).starts_with("b.json: line 1, column 3 (byte 3): "));
  CHECK(error_of(ErrorKind::kNotFound, [&] { load_json(folder.path() / "none.json"); }) ==
        folder.path().string() + "/none.json: no such file or folder");
  CHECK(error_of(ErrorKind::kUnsupported, [&] { load_json(bad, 1); }) ==
        bad.string() + ": has 2 bytes, expected at most 1 bytes of text");
}

}  // namespace lanner::io
