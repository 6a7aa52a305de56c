// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "text/output_parser_driver.h"

namespace lanner::text::test {
namespace {

TEST_CASE("Qwen 3.5: thinking and text are told apart") {
  const ParserDriver driver(OutputFormat::kQwen35, declared_tools());
  const OutputCase cases[] = {
      {"thinking", kQwenThinking, "9 * 6 = 54.\n</think>\n\n9 times 6 is 54.<|im_end|>", "9 * 6 = 54.",
       "9 times 6 is 54."},
      {"thinking off", kQwenPlain, "54.<|im_end|>", "", "54."},
      {"only the newlines of the frame are dropped", kQwenThinking, "\na\n\n</think>\n\n\nb\n", "\na\n",
       "\nb\n"},
      {"unclosed", kQwenThinking, "hm\n", "hm\n", ""},
      {"empty", kQwenThinking, "</think>\n\nYes", "", "Yes"},
      {"closing marker in text", kQwenPlain, "a</think>b", "", "ab"},
      {"opening marker in thinking", kQwenThinking, "a<think>b</think>c", "ab", "c"},
      {"thinking later on", kQwenPlain, "a<think>\nb\n</think>\n\nc", "b", "ac"},
      {"marker text is text", kQwenThinking, "a \1</think> b\n</think>\n\nc \1<tool_call>", "a </think> b",
       "c <tool_call>"},
      {"stop token ends it", kQwenPlain, "yes<|im_end|>\nno", "", "yes"},
  };
  for (const OutputCase& expected : cases) check_output(driver, expected);
}

TEST_CASE("Qwen 3.5: tool calls become JSON") {
  const ParserDriver driver(OutputFormat::kQwen35, declared_tools());
  const OutputCase cases[] = {
      {"one call",
       kQwenPlain,
       "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n2\n</"
       "parameter>\n</function>\n</tool_call><|im_end|>",
       "",
       "",
       {{"get_weather", R"({"city":"Paris","days":2})"}}},
      {"after thinking and text",
       kQwenThinking,
       "hm\n</think>\n\nLet me see.\n\n<tool_call>\n<function=plan>\n</function>\n</tool_call>",
       "hm",
       "Let me see.\n\n",
       {{"plan", "{}"}}},
      {"ends the thinking",
       kQwenThinking,
       "hm\n<tool_call>\n<function=plan>\n</function>\n</tool_call>",
       "hm",
       "",
       {{"plan", "{}"}}},
      {"two calls",
       kQwenPlain,
       "<tool_call>\n<function=plan>\n</function>\n</"
       "tool_call>\n<tool_call>\n<function=write>\n<parameter=text>\nx\n</parameter>\n</function>\n</"
       "tool_call>",
       "",
       "",
       {{"plan", "{}"}, {"write", R"({"text":"x"})"}}},
      {"two functions in one block",
       kQwenPlain,
       "<tool_call><function=plan></function>\n<function=plan></function></tool_call>",
       "",
       "",
       {{"plan", "{}"}, {"plan", "{}"}}},
      {"closing tag inside a value",
       kQwenPlain,
       "<tool_call>\n<function=write>\n<parameter=text>\n<a></parameter> "
       "stays</a>\n</parameter>\n<parameter=mode>\nx\n</parameter>\n</function>\n</tool_call>",
       "",
       "",
       {{"write", R"({"text":"<a></parameter> stays</a>","mode":"x"})"}}},
      {"compact form",
       kQwenPlain,
       "<tool_call><function=write><parameter=mode>x</parameter></function></tool_call>",
       "",
       "",
       {{"write", R"({"mode":"x"})"}}},
      {"blank lines and indentation are kept",
       kQwenPlain,
       "<tool_call>\n<function=write>\n<parameter=text>\n\n  if a < b:\n\n    "
       "c()\n\n</parameter>\n</function>\n</tool_call>",
       "",
       "",
       {{"write", R"({"text":"\n  if a < b:\n\n    c()\n"})"}}},
      {"missing closing tag",
       kQwenPlain,
       "<tool_call>\n<function=write>\n<parameter=text>\na\n<parameter=mode>\nb\n</parameter>\n</"
       "function>\n</tool_call>",
       "",
       "",
       {{"write", R"({"text":"a","mode":"b"})"}}},
      {"both closing tags missing",
       kQwenPlain,
       "<tool_call>\n<function=write>\n<parameter=text>\na\n</tool_call>",
       "",
       "",
       {{"write", R"({"text":"a"})"}}},
      {"function end only",
       kQwenPlain,
       "<tool_call>\n<function=write>\n<parameter=text>\na\n</function>\n</tool_call>",
       "",
       "",
       {{"write", R"({"text":"a"})"}}},
      {"no outer marker",
       kQwenPlain,
       "Sure:\n<function=write>\n<parameter=text>\nx\n</parameter>\n</function>",
       "",
       "Sure:\n",
       {{"write", R"({"text":"x"})"}}},
      {"no outer marker, unknown name", kQwenPlain, "<function=nope>\n</function>", "",
       "<function=nope>\n</function>"},
      {"talk about the syntax", kQwenPlain, "Use `<function=write>` here.\n <function=write> too", "",
       "Use `<function=write>` here.\n <function=write> too"},
      {"types by schema",
       kQwenPlain,
       "<tool_call><function=get_weather><parameter=city>\nnull\n</parameter><parameter=days>\n3.0\n</"
       "parameter><parameter=metric>\nTrue\n</parameter>"
       "<parameter=tags>\n['a', True, None]\n</parameter><parameter=where>\n{\"x\": "
       "[1]}\n</parameter><parameter=level>\n1e3\n</parameter>"
       "<parameter=unit>\n5\n</parameter><parameter=note>\nnull\n</parameter></function></tool_call>",
       "",
       "",
       {{"get_weather",
         R"({"city":"null","days":3,"metric":true,"tags":["a",true,null],"where":{"x": [1]},"level":1e3,"unit":"5","note":null})"}}},
      {"without a schema",
       kQwenPlain,
       "<tool_call><function=plan><parameter=a>\n5\n</parameter><parameter=b>\nfive\n</"
       "parameter><parameter=c>\n\"q\"\n</parameter><parameter=d>\n[1]\n"
       "</parameter><parameter=e>\nTrue\n</parameter></function></tool_call>",
       "",
       "",
       {{"plan", R"({"a":5,"b":"five","c":"\"q\"","d":[1],"e":"True"})"}}},
      {"entities are not decoded",
       kQwenPlain,
       "<tool_call><function=write><parameter=text>\n&lt;a&gt; \"q\" "
       "\\n\n</parameter></function></tool_call>",
       "",
       "",
       {{"write", R"({"text":"&lt;a&gt; \"q\" \\n"})"}}},
      {"duplicate key",
       kQwenPlain,
       "<tool_call><function=write><parameter=text>a</parameter><parameter=text>b</"
       "parameter><parameter=mode>c</parameter></function></tool_call>",
       "",
       "",
       {{"write", R"({"text":"a","mode":"c"})"}}},
      {"JSON form",
       kQwenPlain,
       "<tool_call>\n{\"name\": \"plan\", \"arguments\": {\"a\": [1, \"x\"]}}\n</tool_call>",
       "",
       "",
       {{"plan", R"({"a":[1,"x"]})"}}},
      {"unknown tool, complete",
       kQwenPlain,
       "<tool_call><function=nope><parameter=a>1</parameter></function></tool_call>",
       "",
       "",
       {{"nope", R"({"a":1})"}}},
      {"never closed", kQwenPlain, "<tool_call>\n<function=write>\n<parameter=text>\nab", "",
       "<tool_call>\n<function=write>\n<parameter=text>\nab"},
      {"no call at all", kQwenPlain, "<tool_call>\nwhat?\n</tool_call>", "",
       "<tool_call>\nwhat?\n</tool_call>"},
      {"broken JSON", kQwenPlain, "<tool_call>\n{\"name\": }\n</tool_call>", "",
       "<tool_call>\n{\"name\": }\n</tool_call>"},
      {"text after",
       kQwenPlain,
       "<tool_call><function=plan></function></tool_call>\nDone.",
       "",
       "\nDone.",
       {{"plan", "{}"}}},
      {"markers inside a value",
       kQwenPlain,
       "<tool_call><function=write><parameter=text>\na <think> b\n</parameter></function></tool_call>",
       "",
       "",
       {{"write", R"({"text":"a <think> b"})"}}},
  };
  for (const OutputCase& expected : cases) check_output(driver, expected);
}

TEST_CASE("Qwen 3.5: a JSON call that nests without end is content") {
  const ParserDriver driver(OutputFormat::kQwen35, declared_tools());
  const std::string deep = "<tool_call>{\"name\":\"plan\",\"arguments\":" + std::string(100000, '[');
  CHECK(driver.parse(kQwenPlain, deep + "</tool_call>").content == deep + "</tool_call>");
}

TEST_CASE("Qwen 3.5: without tools the markers are text") {
  const ParserDriver driver(OutputFormat::kQwen35, nullptr);
  check_output(driver, {"call", kQwenPlain, "<tool_call>\n<function=f>\n</function>\n</tool_call>", "",
                        "<tool_call>\n<function=f>\n</function>\n</tool_call>"});
}

}  // namespace
}  // namespace lanner::text::test
