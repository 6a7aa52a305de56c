// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "text/grammar/grammar_source.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/vocabulary.h"
#include "text/output_parser.h"

namespace lanner::text::grammar {

/// Whether an answer calls tools.
enum class ToolUse : std::uint8_t {
  kAuto,      ///< Content, then calls if the model likes.
  kRequired,  ///< Calls and nothing else.
};
/// How many calls an answer may have.
enum class ToolCalls : std::uint8_t { kOne, kMany };
/// What the arguments of a call must be.
enum class ToolArguments : std::uint8_t {
  kBySchema,  ///< What the tool's parameters say.
  kAny,       ///< Any arguments in the family's syntax.
};

struct ToolGrammarOptions {
  ToolUse use = ToolUse::kAuto;
  ToolCalls calls = ToolCalls::kMany;
  ToolArguments arguments = ToolArguments::kBySchema;
  /// The only tool that may be called (tool_choice with a name).
  std::optional<std::string> only = std::nullopt;
  /// With kAuto: what an answer without calls must be, instead of free text.
  const nlohmann::ordered_json* content_schema = nullptr;
};

/// Writes answers that call tools in the markup of the family: `tools` as in OpenAI's requests. Objects have
/// only the properties that their schema declares, unless it says otherwise. The reasoning before the answer
/// is no part of it. Throws Error kInvalidArgument for tools that are none and names
/// that no tool has; errors about parameters name their place as `tools[0].function.parameters#/…`.
GrammarSource tool_call_grammar(OutputFormat format, const nlohmann::ordered_json& tools,
                                const ToolGrammarOptions& options, const GrammarVocabulary& vocabulary,
                                std::vector<std::string>* warnings = nullptr);

}  // namespace lanner::text::grammar
