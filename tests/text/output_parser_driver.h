// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/output_parser.h"

namespace lanner::text::test {

/// How the text between markers is cut into tokens.
enum class Cut { kWhole, kBytes, kRandom };

/// Feeds answers written as text to a parser. Markers of the format become marker tokens; a '\1' before one
/// makes it ordinary text.
class ParserDriver {
 public:
  ParserDriver(OutputFormat format, nlohmann::ordered_json tools, UnknownTools unknown = UnknownTools::kEmit)
      : format_(format), options_{std::move(tools), unknown} {}

  /// The events of one answer, adjacent pieces of text joined. `seed` is for Cut::kRandom.
  std::vector<OutputEvent> events(const std::string& prompt, const std::string& answer, Cut cut,
                                  unsigned seed = 0) const;
  ParsedOutput parse(const std::string& prompt, const std::string& answer, Cut cut = Cut::kWhole) const;
  TokenLookup lookup() const;
  std::vector<std::pair<TokenId, std::string>> tokens(const std::string& text, Cut cut, unsigned seed) const;

 private:
  OutputFormat format_;
  OutputParserOptions options_;
};

/// An answer and what it should be read as.
struct OutputCase {
  const char* name;
  const char* prompt;
  const char* answer;
  const char* reasoning;
  const char* content;
  std::vector<std::pair<std::string, std::string>> calls = {};  ///< Name and arguments.
};

/// Checks the case, and that cutting the text into other tokens changes nothing.
void check_output(const ParserDriver& driver, const OutputCase& expected);

/// get_weather with arguments of every type, plan without a schema, write with two strings.
const nlohmann::ordered_json& declared_tools();

inline constexpr const char* kGemmaTurn = "<|turn>user\nHi<turn|>\n<|turn>model\n";
inline constexpr const char* kGemmaNoThought = "<|turn>model\n<|channel>thought\n<channel|>";
inline constexpr const char* kQwenThinking = "<|im_start|>assistant\n<think>\n";
inline constexpr const char* kQwenPlain = "<|im_start|>assistant\n<think>\n\n</think>\n\n";

/// One line per event, for comparisons: "content:...", "start0:name" ...
std::string describe(const std::vector<OutputEvent>& events);

}  // namespace lanner::text::test
