// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/chat_messages.h"
#include "text/jinja/template.h"

namespace lanner::text {

/// What a template is told about thinking.
enum class ThinkingSwitch : std::uint8_t { kTemplateDefault, kOn, kOff };
/// Whether the rendering ends with the opening of the model's turn.
enum class GenerationPrompt : std::uint8_t { kAdd, kOmit };

/// A conversation to render.
struct ChatInput {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();  ///< OpenAI form.
  nlohmann::ordered_json tools = nullptr;                             ///< OpenAI form, or null.
  ThinkingSwitch thinking = ThinkingSwitch::kTemplateDefault;
  GenerationPrompt generation_prompt = GenerationPrompt::kAdd;
  RolePolicy roles = RolePolicy::kMerge;
  /// More template variables (chat_template_kwargs); they win over everything but messages and tools.
  nlohmann::ordered_json extra = nlohmann::ordered_json::object();
  std::time_t now = 0;  ///< For templates that print the date; 0 is the current time.
};

struct RenderedChat {
  std::string text;
  /// Byte ranges of `text` that come from messages and tools, for EncodeOptions::literal: markers in what
  /// users wrote are no control tokens.
  std::vector<TextSpan> literal;
};

/// What a template makes of its input, found out by rendering.
struct ChatTemplateFacts {
  bool uses_tools = false;
  bool uses_system = false;
  bool has_thinking_switch = false;
  bool thinks_by_default = false;  ///< Meaningful with a thinking switch.
};

/// The chat template of a checkpoint. Immutable: may render on many threads at once.
class ChatTemplate {
 public:
  /// The template of a folder: chat_template.jinja, else chat_template.json, else chat_template in
  /// tokenizer_config.json (text, or a list of named ones); nothing when there is none. Throws Error: kIo,
  /// kCorrupt (file and line of a syntax error), kUnsupported.
  static std::optional<ChatTemplate> find(const std::filesystem::path& folder);
  /// The same; throws kNotFound when there is none.
  static ChatTemplate load(const std::filesystem::path& folder);
  /// From text; `tokenizer_config` gives the special tokens (bos_token ...), null for none.
  static ChatTemplate parse(std::string_view source,
                            const nlohmann::ordered_json& tokenizer_config = nullptr);

  /// Throws Error kInvalidArgument: a message in the wrong form, or the template's own refusal
  /// ("chat_template.jinja line 12: ...").
  RenderedChat render(const ChatInput& input) const;

  ChatTemplateFacts facts() const;
  /// The source of the template used without tools.
  const std::string& source() const { return variants_.front().source; }

 private:
  struct Variant {
    std::string name;
    std::string source;
    jinja::Template compiled;
  };

  ChatTemplate() = default;
  void add_variant(std::string name, std::string source, const std::string& file);
  void add_configured(const nlohmann::ordered_json& configured);
  const Variant& choose(const ChatInput& input) const;
  std::optional<std::string> try_render(const ChatInput& input) const;

  std::vector<Variant> variants_;  ///< The default one first.
  nlohmann::ordered_json special_tokens_ = nlohmann::ordered_json::object();
};

}  // namespace lanner::text
