// SPDX-License-Identifier: MIT
#include "server/output_constraint.h"

#include "engine/answer_constraint.h"
#include "server/problem.h"
#include "text/grammar/work.h"

namespace lanner::server {
namespace {

/// A constraint that cannot be had is the request's fault.
template <typename Make>
engine::ConstraintFactory checked(const std::string& param, const char* invalid, const Make& make) {
  try {
    return make();
  } catch (const text::grammar::GrammarLimit& error) {
    refuse_field(param, "grammar_limit", error.what());
  } catch (const Error& error) {
    const bool unsupported = error.kind() == ErrorKind::kUnsupported;
    refuse_field(param, unsupported ? "unsupported_schema" : invalid, error.what());
  }
}

}  // namespace

engine::ConstraintFactory output_constraint(const ServedModel& served, const OutputShape& shape) {
  return checked(shape.param, shape.is_json() ? "invalid_schema" : "invalid_grammar",
                 [&] { return engine::shape_constraint(shape, served.model, *served.grammars); });
}

engine::ConstraintFactory output_constraint(const ServedModel& served, const ChatRequest& chat) {
  using text::grammar::ToolCalls;
  using text::grammar::ToolUse;
  const ToolChoice& choice = chat.tool_choice;
  const engine::CallableTools tools{
      .tools = chat.input.tools,
      .use = choice.use == ToolChoice::Use::kRequired ? ToolUse::kRequired : ToolUse::kAuto,
      .calls = choice.parallel ? ToolCalls::kMany : ToolCalls::kOne};
  if (!engine::binds_calls(tools, chat.shape)) return output_constraint(served, chat.shape);
  return checked("tools", "invalid_schema",
                 [&] { return engine::tool_constraint(tools, chat.shape, served.model, *served.grammars); });
}

}  // namespace lanner::server
