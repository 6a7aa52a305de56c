// SPDX-License-Identifier: MIT
#include "cli/chat_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "io/message_text.h"
#include "io/text_file.h"

namespace lanner::cli {
namespace {

constexpr const char* kGroup = "Chat";

void add_thinking_flags(CLI::App& app, ChatArguments& arguments) {
  CLI::Option* think = app.add_flag_callback(
      "--think", [&arguments] { arguments.thinking = text::ThinkingSwitch::kOn; },
      "ask the template for thinking (enable_thinking true; default: as the template has it)");
  think->group(kGroup);
  app.add_flag_callback(
         "--no-think", [&arguments] { arguments.thinking = text::ThinkingSwitch::kOff; },
         "ask the template for no thinking (enable_thinking false)")
      ->excludes(think)
      ->group(kGroup);
  CLI::Option* show = app.add_flag_callback(
      "--show-thinking", [&arguments] { arguments.display = ThinkingDisplay::kShow; },
      "show thoughts also in a pipe (default: dimmed on a terminal, left out of a pipe)");
  show->group(kGroup);
  app.add_flag_callback(
         "--hide-thinking", [&arguments] { arguments.display = ThinkingDisplay::kHide; },
         "leave thoughts out of the output")
      ->excludes(show)
      ->group(kGroup);
}

/// One tool in the form {"type": "function", "function": {...}}.
nlohmann::ordered_json wrapped(nlohmann::ordered_json tool, const std::string& file) {
  if (tool.is_object() && tool.contains("name")) tool = {{"type", "function"}, {"function", std::move(tool)}};
  const bool valid = tool.is_object() && tool.contains("function") && tool["function"].is_object() &&
                     tool["function"].contains("name") && tool["function"]["name"].is_string();
  if (!valid)
    throw Error(ErrorKind::kCorrupt,
                fmt::format("{}: a tool has no function with a name, expected {{\"type\": \"function\", "
                            "\"function\": {{\"name\": ..., \"parameters\": ...}}}}",
                            io::printable(file)));
  return tool;
}

}  // namespace

void add_chat_options(CLI::App& app, ChatArguments& arguments) {
  app.add_option("--system,--system-prompt", arguments.system, "system prompt (also -sys)")
      ->type_name("TEXT")
      ->group(kGroup);
  app.add_option("--tools", arguments.tools_file, "JSON file with the tools the model may call")
      ->type_name("FILE")
      ->group(kGroup);
  add_thinking_flags(app, arguments);
  app.add_option("--image,--audio", arguments.media, "refused: this build runs the text part of a model")
      ->type_name("FILE")
      ->take_all()
      ->allow_extra_args(false)
      ->group(kGroup);
}

nlohmann::ordered_json read_tools(const ChatArguments& arguments) {
  if (arguments.tools_file.empty()) return nullptr;
  const std::string& file = arguments.tools_file;
  const std::string text = io::read_text_file(file);
  io::parse_json(text, io::printable(file));  // refuses deep nesting and says where a mistake is
  nlohmann::ordered_json tools = nlohmann::ordered_json::parse(text);
  if (tools.is_object()) tools = nlohmann::ordered_json::array({std::move(tools)});
  if (!tools.is_array())
    throw Error(ErrorKind::kCorrupt, fmt::format("{}: expected a JSON array of tools", io::printable(file)));
  for (nlohmann::ordered_json& tool : tools) tool = wrapped(std::move(tool), file);
  return tools;
}

void refuse_media(const ChatArguments& arguments, const models::ModelFacts& facts) {
  if (arguments.media.empty()) return;
  const std::string parts =
      facts.unused_parts.empty()
          ? std::string("this checkpoint has no part that could read it")
          : fmt::format("the checkpoint's {} is not run", fmt::join(facts.unused_parts, ", "));
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: images and sounds are not supported; this build runs the text part, and {}",
                          io::printable(arguments.media.front()), parts));
}

}  // namespace lanner::cli
