// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/answer_statistics.h"
#include "cli/chat_command.h"
#include "engine/chat_prompt.h"
#include "engine/engine.h"
#include "text/chat_template.h"

namespace lanner::cli {

/// One conversation: its messages, and what /commands change about it. The console must outlive it.
class ChatSession {
 public:
  enum class Next : std::uint8_t {
    kGoOn,
    kInterrupted,  ///< go on, but Ctrl-C stopped the answer
    kLeave,
  };

  ChatSession(const ChatOptions& options, std::shared_ptr<const engine::LoadedModel> model,
              nlohmann::ordered_json tools, Console& console);

  /// A message of the user or a /command. Throws Error; the conversation is then as before.
  Next handle(const std::string& message);
  /// Keeps the caches of the conversation in the file that the user named, if any. Throws Error kIo.
  void keep_prompt_cache();
  /// The conversation without the system prompt.
  const nlohmann::ordered_json& messages() const { return messages_; }

 private:
  Next run_command(std::string_view name, const std::string& argument);
  Next ask(const std::string& message);
  Next regenerate();
  /// Generates the next assistant message and appends it. Throws Interrupted when Ctrl-C stopped it before
  /// its first token.
  Next answer();
  Next answer_prompt(engine::ChatPrompt prompt);
  void keep(const text::ParsedOutput& answer);
  void set_thinking(const std::string& argument);
  void save(const std::string& file) const;
  void load(const std::string& file);
  void say(const std::string& text);
  text::ChatInput chat_input() const;
  engine::ChatPrompt encode() const;
  std::size_t context() const;

  const ChatOptions& options_;
  std::shared_ptr<const engine::LoadedModel> model_;
  Console& console_;
  engine::Engine engine_;
  std::shared_ptr<const engine::AdapterSet> adapters_;
  nlohmann::ordered_json tools_;
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
  std::string system_;
  text::ThinkingSwitch thinking_;
  std::uint64_t seed_;
  AnswerStatistics statistics_;
};

}  // namespace lanner::cli
