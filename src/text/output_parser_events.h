// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lanner::text {

/// A part of a model's answer, as soon as it is certain.
struct OutputEvent {
  enum class Kind : std::uint8_t {
    kReasoning,      ///< text = more of the thinking
    kContent,        ///< text = more of the answer
    kToolStart,      ///< text = the tool's name
    kToolArguments,  ///< text = the next piece of the arguments' JSON
    kToolEnd,        ///< the call is complete
    kToolBroken,  ///< the call ended in bad syntax; text = its markup, content for who has not sent the start
                  ///< yet
  };
  Kind kind = Kind::kContent;
  std::string text = {};
  std::size_t call = 0;  ///< For tool events: which call of the answer, from 0.
};

/// A whole answer, put together from its events.
struct ParsedOutput {
  struct ToolCall {
    std::string name;
    std::string arguments;  ///< JSON text of an object.
  };
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> tool_calls;  ///< Complete ones.
};

ParsedOutput collect_output(std::span<const OutputEvent> events);

}  // namespace lanner::text
