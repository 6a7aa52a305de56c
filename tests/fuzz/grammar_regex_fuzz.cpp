// SPDX-License-Identifier: MIT
#include "fuzz_grammar.h"
#include "text/grammar/regex.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lanner::fuzz::try_grammar([&](const auto&) {
    lanner::text::grammar::GrammarSource source;
    const auto root = source.add_rule("root");
    source.define(
        root, lanner::text::grammar::parse_search_regex(source, {reinterpret_cast<const char*>(data), size},
                                                        "regex", lanner::text::grammar::write_plain));
    source.set_root(root);
    return source;
  });
  return 0;
}
