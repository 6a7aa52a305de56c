// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/grammar_cache.h"
#include "engine/loaded_model.h"
#include "engine/token_constraint.h"
#include "text/grammar/tool_grammar.h"

namespace lanner::engine {

/// What an answer's content must look like.
struct AnswerShape {
  enum class Kind : std::uint8_t {
    kFree,
    kJsonObject,  ///< any JSON object
    kJsonSchema,  ///< JSON by `schema`
    kRegex,       ///< text that `text` matches as a whole
    kChoices,     ///< one of `choices`
    kGbnf,        ///< text by the grammar `text`
    kLark,
  };
  Kind kind = Kind::kFree;
  nlohmann::ordered_json schema = nullptr;
  std::string text = {};
  std::vector<std::string> choices = {};
  bool strict = false;  ///< a schema that cannot be enforced in full is refused

  bool is_free() const { return kind == Kind::kFree; }
  bool is_json() const { return kind == Kind::kJsonSchema || kind == Kind::kJsonObject; }
};

/// Tools that an answer may or must call.
struct CallableTools {
  nlohmann::ordered_json tools = nullptr;  ///< in OpenAI form, or null
  text::grammar::ToolUse use = text::grammar::ToolUse::kAuto;
  text::grammar::ToolCalls calls = text::grammar::ToolCalls::kMany;
};

/// What makes an answer have its shape; empty when it is free. Throws Error kInvalidArgument for what is no
/// schema, expression or grammar, kUnsupported for what cannot be enforced.
ConstraintFactory shape_constraint(const AnswerShape& shape, const std::shared_ptr<const LoadedModel>& model,
                                   GrammarCache& grammars);

/// Whether the tools bind the answer: calls are required, at most one may come, a tool insists on its schema
/// ("strict"), or content must be JSON where no call comes. Else calls are left to the model.
bool binds_calls(const CallableTools& tools, const AnswerShape& shape);
/// What makes an answer call tools, or have its shape where it calls none. Throws as shape_constraint().
ConstraintFactory tool_constraint(const CallableTools& tools, const AnswerShape& shape,
                                  const std::shared_ptr<const LoadedModel>& model, GrammarCache& grammars);

}  // namespace lanner::engine
