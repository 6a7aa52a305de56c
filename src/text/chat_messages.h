// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

/// Brings conversations in OpenAI form into the shape that chat templates expect.
namespace lanner::text {

/// What to do with system and developer messages that a template cannot place.
enum class RolePolicy {
  kMerge,   ///< All of them, in order, become one leading system message, joined by a blank line.
  kStrict,  ///< Messages stay where they are; developer is still renamed to system.
};

/// Checks and rewrites `messages`: roles, tool-call arguments given as JSON text (parsed to objects; "" is
/// {}), media parts (image_url, input_audio, video_url get the plain type name), assistant turns without text
/// (content
/// ""), `reasoning` (also offered as reasoning_content). Throws Error kInvalidArgument naming the message
/// ("messages[1].tool_calls[0]: ...").
nlohmann::ordered_json prepare_messages(const nlohmann::ordered_json& messages, RolePolicy policy);

/// Whether a template reads tool schemas (Gemma's declarations) or prints them as they are.
enum class SchemaUse { kReads, kPrints };

/// Checks and rewrites `tools`: a bare {name, parameters} is wrapped as a function; for templates that read
/// schemas, type lists become one type and `nullable`, and missing types are inferred (enum: string,
/// properties: object, items: array, anyOf: its first type that is not null, else string). Null stays null.
nlohmann::ordered_json prepare_tools(const nlohmann::ordered_json& tools, SchemaUse use);

}  // namespace lanner::text
