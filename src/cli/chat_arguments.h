// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/answer_printer.h"
#include "cli/cli11_app.h"
#include "models/model.h"
#include "text/chat_template.h"

namespace lanner::cli {

/// What goes into the chat template besides the user's words, and what is shown of the answer.
struct ChatArguments {
  std::string system = {};
  std::string tools_file = {};
  text::ThinkingSwitch thinking = text::ThinkingSwitch::kTemplateDefault;
  ThinkingDisplay display = ThinkingDisplay::kAuto;
  std::vector<std::string> media = {};  ///< image and audio files, which this build refuses
};

/// Adds --system, --tools, --think, --no-think, --show-thinking, --hide-thinking, --image, --audio.
void add_chat_options(CLI::App& app, ChatArguments& arguments);

/// The tools of --tools: a JSON array of tools, or one tool, in the OpenAI or the bare function form; null
/// without the option. Throws Error kCorrupt, kNotFound.
nlohmann::ordered_json read_tools(const ChatArguments& arguments);

/// Throws Error kInvalidArgument when an image or a sound is given, naming the parts of the checkpoint that
/// this build does not run.
void refuse_media(const ChatArguments& arguments, const models::ModelFacts& facts);

}  // namespace lanner::cli
