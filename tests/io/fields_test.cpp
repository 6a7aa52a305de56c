// SPDX-License-Identifier: MIT
#include "io/fields.h"

#include <doctest/doctest.h>

#include "io/temporary_folder.h"

namespace lanner::io {
namespace {

const Json& sample() {
  static const Json json = Json::parse(R"({
    "hidden_size": "abc", "layers": 12, "huge": 18446744073709551615, "negative": -3, "spelled": 1e3, "half": 0.5,
    "theta": 1000000.0, "tie": true, "name": "gelu", "absent": null, "ids": [1, 106, 50], "eos": 7,
    "bad_ids": [1, "x"], "kinds": ["full", "sliding"], "scales": [0.5, 2], "bad_kinds": ["full", 3],
    "rope": {"theta": 10000, "factor": [1]}, "items": [{"bits": 4}, {"bits": "8"}], "mixed": [{}, 1]})");
  return json;
}

Fields fields() { return Fields(sample(), "config.json", "text_config"); }

template <typename Action>
std::string field_error(Action action) {
  return error_of(ErrorKind::kCorrupt, [&] { action(fields()); });
}

}  // namespace

TEST_CASE("Fields read each type, take null for absent, and fall back") {
  const Fields f = fields();
  CHECK(f.required_int("layers", kPositive) == 12);
  CHECK(f.required_int("spelled") == 1000);
  CHECK(f.optional_int("absent", 9) == 9);
  CHECK(f.optional_int("nowhere", 9) == 9);
  CHECK_FALSE(f.find_int("absent").has_value());
  CHECK(f.required_number("half", kAboveZero) == 0.5);
  CHECK(f.required_number("layers") == 12.0);
  CHECK(f.optional_number("nowhere", 1e-6) == 1e-6);
  CHECK(f.required_bool("tie"));
  CHECK(f.optional_bool("absent", true));
  CHECK(f.required_string("name") == "gelu");
  CHECK(f.optional_string("nowhere", "x") == "x");
  CHECK(f.required_ints("ids") == std::vector<std::int64_t>{1, 106, 50});
  CHECK(f.find_int_or_ints("eos") == std::vector<std::int64_t>{7});
  CHECK(f.find_int_or_ints("ids")->size() == 3);
  CHECK(f.required_numbers("scales") == std::vector<double>{0.5, 2});
  CHECK(f.required_strings("kinds") == std::vector<std::string>{"full", "sliding"});
  CHECK(f.required_object("rope").required_int("theta") == 10000);
  CHECK_FALSE(f.find_object("absent").has_value());
  CHECK(f.required_objects("items")[0].required_int("bits") == 4);
  CHECK(f.has("tie"));
  CHECK_FALSE(f.has("absent"));
  CHECK(f.keys().size() == sample().size());
}

TEST_CASE("Fields errors name file, field, found value and expectation") {
  CHECK(field_error([](const Fields& f) { f.required_int("hidden_size", kPositive); }) ==
        "config.json: text_config.hidden_size is \"abc\" (string), expected an integer >= 1");
  CHECK(field_error([](const Fields& f) { f.optional_int("hidden_size", 1); }) ==
        "config.json: text_config.hidden_size is \"abc\" (string), expected an integer");
  CHECK(field_error([](const Fields& f) { f.required_int("nowhere", kPositive); }) ==
        "config.json: text_config.nowhere is missing, expected an integer >= 1");
  CHECK(field_error([](const Fields& f) { f.required_int("absent"); }) ==
        "config.json: text_config.absent is missing, expected an integer");
  CHECK(field_error([](const Fields& f) {
          f.required_int("layers", {1, 8});
        }) == "config.json: text_config.layers is 12 (number), expected an integer from 1 to 8");
  CHECK(field_error([](const Fields& f) { f.find_int("layers", {.max = 8}); }) ==
        "config.json: text_config.layers is 12 (number), expected an integer <= 8");
  CHECK(field_error([](const Fields& f) { f.required_int("negative", kNotNegative); }) ==
        "config.json: text_config.negative is -3 (number), expected an integer >= 0");
  CHECK(field_error([](const Fields& f) { f.required_int("huge"); }) ==
        "config.json: text_config.huge is 18446744073709551615 (number), expected an integer");
  CHECK(field_error([](const Fields& f) { f.required_int("half"); }) ==
        "config.json: text_config.half is 0.5 (number), expected an integer");
  CHECK(field_error([](const Fields& f) { f.required_int("tie"); }) ==
        "config.json: text_config.tie is true (boolean), expected an integer");
  CHECK(field_error([](const Fields& f) { f.required_number("negative", kAboveZero); }) ==
        "config.json: text_config.negative is -3 (number), expected a number > 0");
  CHECK(field_error([](const Fields& f) {
          f.required_number("layers", {0, 1});
        }) == "config.json: text_config.layers is 12 (number), expected a number >= 0 and <= 1");
  CHECK(field_error([](const Fields& f) { f.required_number("layers", {.max = 1}); }) ==
        "config.json: text_config.layers is 12 (number), expected a number <= 1");
  CHECK(field_error([](const Fields& f) { f.required_bool("eos"); }) ==
        "config.json: text_config.eos is 7 (number), expected true or false");
  CHECK(field_error([](const Fields& f) { f.required_string("ids"); }) ==
        "config.json: text_config.ids is an array of 3 values, expected a string");
  CHECK(field_error([](const Fields& f) { f.required_object("name"); }) ==
        "config.json: text_config.name is \"gelu\" (string), expected an object");
  CHECK(field_error([](const Fields& f) { f.required_object("nowhere"); }) ==
        "config.json: text_config.nowhere is missing, expected an object");
}

TEST_CASE("Fields errors name the element of a list and the place of a nested field") {
  CHECK(field_error([](const Fields& f) { f.required_ints("bad_ids"); }) ==
        "config.json: text_config.bad_ids[1] is \"x\" (string), expected an integer");
  CHECK(field_error([](const Fields& f) { f.required_ints("eos"); }) ==
        "config.json: text_config.eos is 7 (number), expected an array of integers");
  CHECK(field_error([](const Fields& f) { f.find_int_or_ints("name"); }) ==
        "config.json: text_config.name is \"gelu\" (string), expected an integer or an array of integers");
  CHECK(field_error([](const Fields& f) {
          f.find_int_or_ints("ids", {0, 100});
        }) == "config.json: text_config.ids[1] is 106 (number), expected an integer from 0 to 100");
  CHECK(field_error([](const Fields& f) { f.required_strings("bad_kinds"); }) ==
        "config.json: text_config.bad_kinds[1] is 3 (number), expected a string");
  CHECK(field_error([](const Fields& f) { f.required_numbers("kinds"); }) ==
        "config.json: text_config.kinds[0] is \"full\" (string), expected a number");
  CHECK(field_error([](const Fields& f) { f.required_object("rope").required_int("factor"); }) ==
        "config.json: text_config.rope.factor is an array of 1 value, expected an integer");
  CHECK(field_error([](const Fields& f) { f.required_objects("items")[1].required_int("bits"); }) ==
        "config.json: text_config.items[1].bits is \"8\" (string), expected an integer");
  CHECK(field_error([](const Fields& f) { f.required_objects("mixed"); }) ==
        "config.json: text_config.mixed[1] is 1 (number), expected an object");
}

TEST_CASE("Fields refuse a document that is not an object and keep messages on one line") {
  const Json list = Json::array({1, 2});
  CHECK(error_of(ErrorKind::kCorrupt, [&] { Fields(list, "config.json"); }) ==
        "config.json: the document is an array of 2 values, expected an object");
  const Json text = {{"a\nb", "c\nd"}};
  CHECK(error_of(ErrorKind::kCorrupt, [&] { Fields(text, "config.json").required_int("a\nb"); }) ==
        "config.json: a\\x0ab is \"c\\x0ad\" (string), expected an integer");
}

}  // namespace lanner::io
