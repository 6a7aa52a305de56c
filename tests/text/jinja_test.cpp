// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "io/text_file.h"
#include "text/jinja/template.h"

namespace lanner::text::jinja {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::time_t kOracleTime = 1700000000;

Json load(const std::string& name) {
  return Json::parse(io::read_text_file(std::filesystem::path(LANNER_GOLDEN_DIR) / "templates" / name));
}

std::string render(std::string_view source, const Json& variables = Json::object(),
                   const Limits& limits = {}) {
  return Template(source).render({variables, Json::object(), kOracleTime}, limits).text;
}

/// The message of the error that rendering gives, or "" when it gives none.
std::string error_of(std::string_view source, const Json& variables = Json::object(),
                     const Limits& limits = {}) {
  try {
    render(source, variables, limits);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string single_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The literal parts of a rendering whose variables in `user` users wrote.
std::vector<std::string> literal_parts(std::string_view source, const Json& user) {
  const Rendering rendering = Template(source).render({Json::object(), user, kOracleTime});
  std::vector<std::string> parts;
  for (const TextSpan& span : rendering.literal)
    parts.push_back(rendering.text.substr(span.begin, span.end - span.begin));
  return parts;
}

using Strings = std::vector<std::string>;

TEST_CASE("templates render as Jinja2 renders them, errors included") {
  const Json oracle = load("snippets.json");
  REQUIRE(oracle["cases"].size() >= 300);
  for (const Json& snippet : oracle["cases"]) {
    const auto source = snippet["template"].get<std::string>();
    CAPTURE(snippet["name"].get<std::string>());
    CAPTURE(source);
    if (snippet.contains("output")) {
      std::string got;
      REQUIRE_NOTHROW(got = render(source, oracle["vars"]));
      CHECK(got == snippet["output"].get<std::string>());
      continue;
    }
    const std::string message = error_of(source, oracle["vars"]);
    const std::string line = snippet.contains("line") ? std::to_string(snippet["line"].get<int>()) : "";
    const std::string where = "chat_template.jinja line " + line;
    CHECK(message.substr(0, where.size()) == where);
    if (snippet.contains("message"))
      CHECK(message == where + ": " + single_line(snippet["message"].get<std::string>()));
  }
}

TEST_CASE("templates that never end are stopped by their budget") {
  Limits limits;
  limits.max_steps = 100000;
  const std::string loops =
      "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}{% endfor %}{% endfor "
      "%}{% endfor %}";
  CHECK(error_of(loops, Json::object(), limits).find("more than 100000 steps") != std::string::npos);
  const std::string doubling =
      "{% set ns = namespace(x=[1]) %}{% for a in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}";
  CHECK_FALSE(error_of(doubling, Json::object(), limits).empty());
}

TEST_CASE("text and values that grow without bound are stopped") {
  Limits limits;
  limits.max_text_bytes = 10000;
  const std::string text =
      "{% set ns = namespace(x='ab') %}{% for a in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}";
  CHECK(error_of(text, Json::object(), limits).find("grows beyond 10000 bytes") != std::string::npos);
  CHECK_FALSE(error_of("{{ 'a' * 100000 }}", Json::object(), limits).empty());
  CHECK_FALSE(error_of("{{ 'a' | center(100000) }}", Json::object(), limits).empty());
  CHECK_FALSE(error_of("{{ '%99999d' % 1 }}", Json::object(), limits).empty());
  CHECK_FALSE(error_of("{% for a in range(10000) %}ab{% endfor %}", Json::object(), limits).empty());
  const std::string shared =
      "{% set ns = namespace(x=[1]) %}{% for a in range(100) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ "
      "ns.x }}";
  CHECK_FALSE(error_of(shared).empty());
}

TEST_CASE("deep recursion and nesting end in an error, not a crash") {
  CHECK(error_of("{% macro m() %}{{ m() }}{% endmacro %}\n{{ m() }}").find("recursion") != std::string::npos);
  CHECK_FALSE(error_of("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}").empty());
  CHECK_FALSE(error_of("{{ " + std::string(100000, '(') + "1" + std::string(100000, ')') + " }}").empty());
  CHECK_FALSE(error_of("{{ " + std::string(100000, '-') + "1 }}").empty());
  for (const char* link : {" + 1", " | abs", ".a", "()", " if 1", " or 1", " * 1", " ** 1", " is odd"}) {
    std::string chain = "{{ 1";
    for (int i = 0; i < 100000; ++i) chain += link;
    CHECK_FALSE(error_of(chain + " }}").empty());
  }
  CHECK(render("{{ " + std::string(90, '(') + "1" + std::string(90, ')') + " }}") == "1");
  CHECK_FALSE(error_of("{{ " + std::string(100000, '[') + " }}").empty());
  std::string nested;
  for (int i = 0; i < 10000; ++i) nested += "{% if true %}";
  CHECK_FALSE(error_of(nested).empty());
  const std::string chain =
      "{% set ns = namespace(x=[1]) %}{% for a in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x "
      "}}";
  CHECK(error_of(chain).find("nests deeper") != std::string::npos);
  const std::string filters =
      "{% set ns = namespace(x=[1]) %}{% for a in range(5000) %}{% set ns.x = ns.x | map('abs') %}{% endfor "
      "%}{{ ns.x | list }}";
  CHECK_FALSE(error_of(filters).empty());
  Json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = Json::array({deep});
  CHECK_FALSE(error_of("{{ x }}", {{"x", deep}}).empty());
}

TEST_CASE("long chains of operators and filters are no nesting") {
  std::string sum = "{{ 1";
  for (int i = 0; i < 100; ++i) sum += " + 1";
  CHECK(render(sum + " }}") == "101");
  std::string filters = "{{ 'a'";
  for (int i = 0; i < 100; ++i) filters += " | upper";
  CHECK(render(filters + " }}") == "A");
}

TEST_CASE("errors inside loops leave nothing behind") {  // The leak check is the sanitizer's.
  CHECK_FALSE(error_of("{% for x in [1] if x %}{{ loop.index.a.b }}{% endfor %}").empty());
  CHECK_FALSE(error_of("{% for x in [1] recursive %}{{ loop.index.a.b }}{% endfor %}").empty());
  CHECK_FALSE(error_of("{% for x in [1] %}{% macro m() %}{{ loop }}{% endmacro %}{{ loop.a.b }}{% endfor %}")
                  .empty());
}

TEST_CASE("a namespace may hold itself") {
  CHECK(render("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns.me.me is sameas ns }}{{ ns }}") ==
        "True<Namespace {'me': <Namespace>}>");
}

TEST_CASE("integers are exact up to 64 bits and beyond, and overflow is an error") {
  CHECK(render("{{ x }} {{ x | tojson }}", {{"x", 18446744073709551615u}}) ==
        "18446744073709551615 18446744073709551615");
  CHECK(render("{{ 9223372036854775807 + 1 }}") == "9223372036854775808");
  CHECK_FALSE(error_of("{{ 2 ** 200 }}").empty());
  CHECK_FALSE(error_of("{{ 99999999999999999999999999999999999999999999 }}x").empty());
}

TEST_CASE("input that is not UTF-8 does no harm") {
  CHECK_FALSE(
      render("{{ x | upper }}{{ x | length }}{{ x[::-1] }}{{ x | tojson }}", {{"x", "a\xff\xc3"}}).empty());
}

TEST_CASE("what users wrote is marked in the output") {
  const Json user = {{"m", {{"role", "user"}, {"text", " <hi> "}, {"list", {"a", "b"}}, {"n", 5}}}};
  CHECK(literal_parts("<b>{{ m.text }}<e>", user) == Strings{" <hi> "});
  CHECK(literal_parts("{{ '<b>' + m.text ~ '<e>' }}", user) == Strings{" <hi> "});
  CHECK(literal_parts("<{{ m.text | trim }}>", user) == Strings{"<hi>"});
  CHECK(literal_parts("<{{ m.text.strip() }}>", user) == Strings{"<hi>"});
  CHECK(literal_parts("{% set x = ('<b>' ~ m.text).split('h') %}{{ x[0] }}|{{ x[1] }}", user) ==
        Strings{" <", "i> "});
  CHECK(literal_parts("{{ ('<b>' ~ m.text)[1:6] }}", user) == Strings{" <h"});
  CHECK(literal_parts("{{ m.text | upper }}", user) == Strings{" <HI> "});
  CHECK(literal_parts("{{ m.list | join('<s>') }}", user) == Strings{"a", "b"});
  CHECK(literal_parts("{{ '<s>'.join(m.list) }}", user) == Strings{"a", "b"});
  CHECK(literal_parts("{{ m.n }}{{ m.list | length }}", user).empty());
  CHECK(literal_parts("{{ m | tojson }}", user).size() == 1);
  CHECK(literal_parts("{{ m.list }}", user) == Strings{"['a', 'b']"});
  CHECK(literal_parts("{% macro q(x) %}<q>{{ x }}</q>{% endmacro %}{{ q(m.text) | trim }}", user) ==
        Strings{" <hi> "});
  CHECK(literal_parts("{% set b %}<s>{{ m.text }}{% endset %}{{ b }}", user) == Strings{" <hi> "});
  CHECK(literal_parts("{% for c in m.list %}<c>{{ c }}{% endfor %}", user) == Strings{"a", "b"});
  CHECK(literal_parts("{{ '%s<e>' % m.text }}", user) == Strings{" <hi> <e>"});
  CHECK(literal_parts("{{ m.missing | default('<d>') }}", user).empty());
}

TEST_CASE("errors name the template and the line") {
  CHECK(error_of("a\n{{ x.y }}") == "chat_template.jinja line 2: 'x' is undefined");
  CHECK_THROWS_WITH_AS(
      Template("{% if %}", "tokenizer_config.json: chat_template"),
      "tokenizer_config.json: chat_template line 1: Expected an expression, got 'end of statement block'",
      Error);
  CHECK(error_of("\n{% include 'x' %}").find("line 2") != std::string::npos);
}

}  // namespace
}  // namespace lanner::text::jinja
