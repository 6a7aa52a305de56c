// SPDX-License-Identifier: MIT
#include "text/chat_template.h"

#include <algorithm>

#include "core/error.h"
#include "io/folder_listing.h"
#include "io/message_text.h"
#include "io/text_file.h"
#include "text/bounded_json.h"

namespace lanner::text {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kTemplateFile = "chat_template.jinja";
constexpr const char* kTemplateJson = "chat_template.json";
constexpr const char* kConfigFile = "tokenizer_config.json";
constexpr const char* kToolVariant = "tool_use";

// Insertion order matters to templates that iterate, hence not io::load_json().
OrderedJson load_ordered_json(const std::filesystem::path& path) {
  std::optional<OrderedJson> json = parse_bounded_json(io::read_text_file(path));
  if (!json || !json->is_object())
    throw Error(ErrorKind::kCorrupt, path.filename().string() + ": expected a JSON object");
  return std::move(*json);
}

// A special token is a string or an added token with its content.
void add_special_token(OrderedJson& tokens, const std::string& name, const OrderedJson& value) {
  if (value.is_string())
    tokens[name] = value;
  else if (value.is_object() && value.contains("content") && value["content"].is_string())
    tokens[name] = value["content"];
}

OrderedJson special_tokens_of(const OrderedJson& config) {
  OrderedJson tokens = OrderedJson::object();
  if (!config.is_object()) return tokens;
  constexpr std::string_view kSuffix = "_token";
  for (const auto& [name, value] : config.items())
    if (name.size() > kSuffix.size() &&
        std::string_view(name).substr(name.size() - kSuffix.size()) == kSuffix)
      add_special_token(tokens, name, value);
  return tokens;
}

SchemaUse schema_use(const std::string& source) {
  return source.find("<|tool>") != std::string::npos ? SchemaUse::kReads : SchemaUse::kPrints;
}

bool has_tools(const ChatInput& input) { return input.tools.is_array() && !input.tools.empty(); }

}  // namespace

std::optional<ChatTemplate> ChatTemplate::find(const std::filesystem::path& folder) {
  const io::FolderListing listing(folder);
  const OrderedJson config =
      listing.has(kConfigFile) ? load_ordered_json(folder / kConfigFile) : OrderedJson();
  ChatTemplate found;
  found.special_tokens_ = special_tokens_of(config);
  if (listing.has(kTemplateFile)) {
    found.add_variant("default", io::read_text_file(folder / kTemplateFile), kTemplateFile);
  } else {
    const OrderedJson holder =
        listing.has(kTemplateJson) ? load_ordered_json(folder / kTemplateJson) : config;
    if (holder.is_object() && holder.contains("chat_template")) found.add_configured(holder["chat_template"]);
  }
  if (found.variants_.empty()) return std::nullopt;
  return found;
}

ChatTemplate ChatTemplate::load(const std::filesystem::path& folder) {
  if (std::optional<ChatTemplate> found = find(folder)) return std::move(*found);
  throw Error(ErrorKind::kNotFound, io::printable(folder.native()) +
                                        ": has no chat template (chat_template.jinja, or chat_template in "
                                        "tokenizer_config.json)");
}

ChatTemplate ChatTemplate::parse(std::string_view source, const nlohmann::ordered_json& tokenizer_config) {
  ChatTemplate parsed;
  parsed.special_tokens_ = special_tokens_of(tokenizer_config);
  parsed.add_variant("default", std::string(source), kTemplateFile);
  return parsed;
}

void ChatTemplate::add_variant(std::string name, std::string source, const std::string& file) {
  jinja::Template compiled(source, file);
  variants_.push_back({std::move(name), std::move(source), std::move(compiled)});
}

void ChatTemplate::add_configured(const nlohmann::ordered_json& configured) {
  if (configured.is_null()) return;
  const std::string field = std::string(kConfigFile) + ": chat_template";
  if (configured.is_string()) return add_variant("default", configured.get<std::string>(), field);
  if (!configured.is_array())
    throw Error(ErrorKind::kCorrupt, field + ": expected text or a list of named templates");
  for (const OrderedJson& entry : configured) {
    const bool usable = entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
                        entry.contains("template") && entry["template"].is_string();
    if (!usable) throw Error(ErrorKind::kCorrupt, field + ": expected entries with name and template");
    const auto name = entry["name"].get<std::string>();
    add_variant(name, entry["template"].get<std::string>(), field + " \"" + io::printable(name) + "\"");
  }
  const auto preferred =
      std::find_if(variants_.begin(), variants_.end(), [](const Variant& v) { return v.name == "default"; });
  if (preferred != variants_.end()) std::iter_swap(variants_.begin(), preferred);
}

const ChatTemplate::Variant& ChatTemplate::choose(const ChatInput& input) const {
  if (has_tools(input))
    for (const Variant& variant : variants_)
      if (variant.name == kToolVariant) return variant;
  return variants_.front();
}

RenderedChat ChatTemplate::render(const ChatInput& input) const {
  const Variant& variant = choose(input);
  jinja::RenderInput values;
  values.now = input.now;
  values.variables = special_tokens_;
  values.variables["add_generation_prompt"] = input.generation_prompt == GenerationPrompt::kAdd;
  if (input.thinking != ThinkingSwitch::kTemplateDefault)
    values.variables["enable_thinking"] = input.thinking == ThinkingSwitch::kOn;
  for (const auto& [name, value] : input.extra.items()) values.variables[name] = value;
  values.user_variables["messages"] = prepare_messages(input.messages, input.roles);
  values.user_variables["tools"] =
      has_tools(input) ? prepare_tools(input.tools, schema_use(variant.source)) : OrderedJson();
  jinja::Rendering rendering = variant.compiled.render(values);
  return {std::move(rendering.text), std::move(rendering.literal)};
}

std::optional<std::string> ChatTemplate::try_render(const ChatInput& input) const {
  try {
    return render(input).text;
  } catch (const Error&) {
    return std::nullopt;  // A template that refuses the probe does not support what it asks for.
  }
}

ChatTemplateFacts ChatTemplate::facts() const {
  constexpr const char* kProbe = "lanner_probe";
  const auto shows_probe = [&](const ChatInput& input) {
    const auto text = try_render(input);
    return text && text->find(kProbe) != std::string::npos;
  };
  const OrderedJson question = OrderedJson{{"role", "user"}, {"content", "Hi"}};
  ChatInput plain;
  plain.messages = OrderedJson::array({question});
  ChatInput tools = plain;
  tools.tools = OrderedJson::array(
      {OrderedJson{{"type", "function"},
                   {"function",
                    {{"name", kProbe},
                     {"description", "d"},
                     {"parameters", {{"type", "object"}, {"properties", OrderedJson::object()}}}}}}});
  ChatInput system = plain;
  system.messages = OrderedJson::array({OrderedJson{{"role", "system"}, {"content", kProbe}}, question});
  ChatInput on = plain, off = plain;
  on.thinking = ThinkingSwitch::kOn;
  off.thinking = ThinkingSwitch::kOff;
  const auto default_text = try_render(plain), on_text = try_render(on), off_text = try_render(off);
  ChatTemplateFacts facts;
  facts.uses_tools = shows_probe(tools);
  facts.uses_system = shows_probe(system);
  facts.has_thinking_switch = on_text && off_text && *on_text != *off_text;
  facts.thinks_by_default = facts.has_thinking_switch && default_text == on_text;
  return facts;
}

}  // namespace lanner::text
