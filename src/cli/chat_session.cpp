// SPDX-License-Identifier: MIT
#include "cli/chat_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/answer_printer.h"
#include "cli/answer_reader.h"
#include "cli/interrupt.h"
#include "core/error.h"
#include "io/atomic_file.h"
#include "io/json.h"
#include "io/message_text.h"
#include "io/text_file.h"

namespace lanner::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kHelp =
    "/help            this list\n"
    "/reset           forget the conversation, keep the system prompt\n"
    "/system TEXT     set the system prompt (without TEXT: none)\n"
    "/think on|off    ask for thinking or for none (where the chat template knows the switch)\n"
    "/regenerate      answer the last message again\n"
    "/save FILE       write the conversation as JSON\n"
    "/load FILE       go on with a saved conversation\n"
    "/stats           tokens and times of the last answer\n"
    "/quit            leave (also Ctrl-D)\n"
    "A line that ends in \\ goes on; \"\"\" begins and ends a block of lines. Ctrl-C stops an answer.\n";

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
}

bool is_of_user(const OrderedJson& message) { return message["role"] == "user"; }

Error bad_command(const std::string& message) { return {ErrorKind::kInvalidArgument, message}; }

/// A conversation as /save writes it.
struct SavedChat {
  std::string system;
  OrderedJson messages = OrderedJson::array();
};

/// Takes what /save wrote, or a bare list of messages; a leading system message becomes the system prompt.
SavedChat read_chat(const std::string& file) {
  const std::string text = io::read_text_file(file);
  const std::string where = io::printable(file);
  io::parse_json(text, where);  // refuses deep nesting and says where a mistake is
  OrderedJson json = OrderedJson::parse(text);
  SavedChat chat;
  if (json.is_object()) {
    if (json.contains("system") && json["system"].is_string())
      chat.system = json["system"].get<std::string>();
    json = json.contains("messages") ? OrderedJson(json["messages"]) : OrderedJson();
  }
  if (!json.is_array())
    throw Error(ErrorKind::kCorrupt, where + ": expected a list of messages, or an object with \"messages\"");
  for (const OrderedJson& message : json) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      throw Error(ErrorKind::kCorrupt,
                  where + ": a message has no role, expected {\"role\": ..., \"content\": ...}");
    const bool leads = chat.messages.empty() && message["role"] == "system";
    if (leads && message.contains("content") && message["content"].is_string())
      chat.system = message["content"].get<std::string>();
    else
      chat.messages.push_back(message);
  }
  return chat;
}

}  // namespace

ChatSession::ChatSession(const ChatOptions& options, std::shared_ptr<const engine::LoadedModel> model,
                         OrderedJson tools, Console& console)
    : options_(options),
      model_(std::move(model)),
      console_(console),
      engine_(model_, engine_options(options.model, options.sampling)),
      adapters_(mount_adapters(options.adapters, engine_, console)),
      tools_(std::move(tools)),
      system_(options.chat.system),
      thinking_(options.chat.thinking),
      seed_(options.sampling.seed.value_or(random_seed())) {
  load_prompt_cache(options.prompt_cache, engine_, adapters_.get());
}

ChatSession::Next ChatSession::handle(const std::string& message) {
  try {
    if (!message.starts_with('/')) return ask(message);
    const std::size_t space = message.find_first_of(" \t\n");
    const std::string_view name = std::string_view(message).substr(0, space);
    return run_command(name, space == std::string::npos ? std::string() : trimmed(message.substr(space)));
  } catch (const Interrupted&) {
    say("[stopped before the answer began; the conversation is as before]\n");
    return Next::kInterrupted;
  }
}

ChatSession::Next ChatSession::run_command(std::string_view name, const std::string& argument) {
  if (name == "/quit" || name == "/exit") return Next::kLeave;
  if (name == "/regenerate") return regenerate();
  if (name == "/help") {
    say(kHelp);
  } else if (name == "/reset") {
    messages_.clear();
    say("The conversation is forgotten.\n");
  } else if (name == "/system") {
    system_ = argument;
    say(argument.empty() ? "There is no system prompt now.\n" : "The system prompt is set.\n");
  } else if (name == "/think") {
    set_thinking(argument);
  } else if (name == "/save") {
    save(argument);
  } else if (name == "/load") {
    load(argument);
  } else if (name == "/stats") {
    say(statistics_line(statistics_) + fmt::format("; seed {}\n", seed_));
  } else {
    throw bad_command(fmt::format("{} is no command; /help lists them", io::in_quotes(name)));
  }
  return Next::kGoOn;
}

ChatSession::Next ChatSession::ask(const std::string& message) {
  messages_.push_back({{"role", "user"}, {"content", message}});
  try {
    return answer();
  } catch (...) {
    messages_.erase(messages_.size() - 1);
    throw;
  }
}

ChatSession::Next ChatSession::regenerate() {
  if (messages_.empty() || messages_.back()["role"] != "assistant")
    throw bad_command("there is no answer to give again");
  if (std::ranges::none_of(messages_, is_of_user))
    throw bad_command("there is nothing to answer: the conversation has no message of the user");
  const OrderedJson last = messages_.back();
  messages_.erase(messages_.size() - 1);
  ++seed_;  // the same seed would give the same answer
  try {
    return answer();
  } catch (...) {
    messages_.push_back(last);
    throw;
  }
}

std::size_t ChatSession::context() const {
  const std::size_t whole = model_->model().facts().context;
  return options_.sampling.context > 0 ? std::min(whole, options_.sampling.context) : whole;
}

text::ChatInput ChatSession::chat_input() const {
  text::ChatInput input{.tools = tools_, .thinking = thinking_};
  if (!system_.empty()) input.messages.push_back({{"role", "system"}, {"content", system_}});
  input.messages.insert(input.messages.end(), messages_.begin(), messages_.end());
  return input;
}

engine::ChatPrompt ChatSession::encode() const {
  return engine::encode_chat_prompt(model_->text(), chat_input());
}

void ChatSession::keep_prompt_cache() {
  if (options_.prompt_cache.file.empty() || messages_.empty()) return;
  text::ChatInput history = chat_input();
  history.generation_prompt = text::GenerationPrompt::kOmit;
  save_prompt_cache(options_.prompt_cache, engine_, {model_->text().encode_chat(history), adapters_.get()},
                    console_);
}

ChatSession::Next ChatSession::answer() {
  engine::ChatPrompt prompt = encode();
  if (prompt.ids.size() >= context())
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("the conversation has {} tokens and the context holds {}; /reset starts anew, /save "
                    "FILE keeps what was said",
                    prompt.ids.size(), context()));
  return answer_prompt(std::move(prompt));
}

ChatSession::Next ChatSession::answer_prompt(engine::ChatPrompt prompt) {
  const std::size_t prompt_tokens = prompt.ids.size();
  engine::Request request = answer_request(options_.sampling, std::move(prompt.ids), *model_);
  request.adapters = adapters_;
  request.checkpoints = std::move(prompt.checkpoints);
  request.sampling =
      sampling_options(options_.sampling, model_->defaults(), model_->tokenizer().vocab_size(), seed_);
  request.sampling.seed = seed_;
  request.tools = tools_;
  statistics_ = {};
  AnswerPrinter printer(console_, options_.chat.display);
  ReadAnswer answer = read_answer(engine_, std::move(request), &printer, console_);
  statistics_ = answer.statistics;
  const bool stopped = answer.finish_reason == engine::FinishReason::kCancelled;
  if (stopped && answer.tokens.empty()) throw Interrupted(SIGINT);
  keep(answer.output);
  if (stopped) {
    say("[stopped]\n");
    return Next::kInterrupted;
  }
  if (answer.finish_reason == engine::FinishReason::kLength &&
      prompt_tokens + answer.tokens.size() >= context())
    say("[the context is full: the answer ends here; /reset starts anew, /save FILE keeps what was said]\n");
  return Next::kGoOn;
}

void ChatSession::keep(const text::ParsedOutput& answer) {
  OrderedJson message{{"role", "assistant"}, {"content", answer.content}};
  if (!answer.reasoning.empty()) message["reasoning_content"] = answer.reasoning;
  for (const auto& call : answer.tool_calls) {
    OrderedJson arguments = OrderedJson::parse(call.arguments, nullptr, /*allow_exceptions=*/false);
    if (arguments.is_discarded()) arguments = OrderedJson::object();
    message["tool_calls"].push_back(
        {{"type", "function"}, {"function", {{"name", call.name}, {"arguments", arguments}}}});
  }
  messages_.push_back(std::move(message));
}

void ChatSession::set_thinking(const std::string& argument) {
  if (argument != "on" && argument != "off") throw bad_command("say /think on or /think off");
  thinking_ = argument == "on" ? text::ThinkingSwitch::kOn : text::ThinkingSwitch::kOff;
  say("Thinking is " + argument + ".\n");
}

void ChatSession::save(const std::string& file) const {
  if (file.empty()) throw bad_command("say where: /save FILE");
  const OrderedJson json{
      {"model", model_->checkpoint().folder().string()}, {"system", system_}, {"messages", messages_}};
  io::write_text_file(file, json.dump(2) + "\n");
  console_.log << fmt::format("{} messages are in {}.\n", messages_.size(), io::printable(file))
               << std::flush;
}

void ChatSession::load(const std::string& file) {
  if (file.empty()) throw bad_command("say what: /load FILE");
  SavedChat chat = read_chat(file);
  messages_ = std::move(chat.messages);
  system_ = std::move(chat.system);
  say(fmt::format("{} messages were read.\n", messages_.size()));
}

void ChatSession::say(const std::string& text) { console_.log << text << std::flush; }

}  // namespace lanner::cli
