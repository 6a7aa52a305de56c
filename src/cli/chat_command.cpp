// SPDX-License-Identifier: MIT
#include "cli/chat_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/chat_session.h"
#include "cli/edit_line_reader.h"
#include "cli/exit_code.h"
#include "cli/model_loading.h"
#include "cli/prompt_source.h"
#include "core/error.h"
#include "io/message_text.h"

namespace lanner::cli {
namespace {

constexpr const char* kPrompt = "> ";

std::unique_ptr<LineReader> open_reader(const ChatOptions& options, Console& console) {
  if (console.terminal.in) return std::make_unique<EditLineReader>(options.history);
  return std::make_unique<StreamLineReader>(console.in);
}

void greet(const engine::LoadedModel& model, Console& console) {
  if (!console.terminal.in) return;
  console.log << fmt::format("{} ({}, context {} tokens). /help lists the commands, Ctrl-D leaves.\n",
                             io::printable(model.checkpoint().folder().native()),
                             model.model().facts().family, model.model().facts().context)
              << std::flush;
}

/// Handles one message. At a terminal a failure is told and the conversation goes on; in a script it ends it.
ChatSession::Next handle(ChatSession& session, const std::string& message, Console& console) {
  if (!console.terminal.in) return session.handle(message);
  try {
    return session.handle(message);
  } catch (const Error& error) {
    console.log << "lanner: error: " << error.what() << std::endl;
    return ChatSession::Next::kGoOn;
  }
}

/// The conversation, to its end; returns the exit code.
int talk(ChatSession& session, const ChatOptions& options, const engine::LoadedModel& model,
         Console& console) {
  const auto reader = open_reader(options, console);
  greet(model, console);
  bool interrupted = false;
  for (;;) {
    const Line message = read_message(*reader, kPrompt);
    if (message.status == LineStatus::kEnd) return kExitOk;
    if (message.status == LineStatus::kInterrupted) {
      if (!message.text.empty()) continue;  // it only took the line away
      if (interrupted) return kExitInterrupted;
      interrupted = true;
      console.log << "Ctrl-C again or Ctrl-D leaves.\n" << std::flush;
      continue;
    }
    interrupted = false;
    if (message.text.find_first_not_of(" \t\n") == std::string::npos) continue;
    reader->remember(message.text);
    const ChatSession::Next next = handle(session, message.text, console);
    if (next == ChatSession::Next::kLeave) return kExitOk;
    if (next == ChatSession::Next::kInterrupted && !console.terminal.in) return kExitInterrupted;
  }
}

}  // namespace

void declare_chat(CLI::App& app, ChatOptions& options) {
  add_folder(app, options.model);
  add_chat_options(app, options.chat);
  add_sampling_options(app, options.sampling);
  add_prompt_cache_options(app, options.prompt_cache);
  add_adapter_option(app, options.adapters, "what they add to the model is added up");
  add_machine_options(app, options.model);
  add_kv_option(app, options.model, "as kv_config.json says, else bf16");
  set_examples(
      app,
      "  lanner chat\n"
      "  lanner chat FOLDER --system \"You are a pirate.\" --temp 0.7\n"
      "  printf 'Hello\\nWhat did I say?\\n' | lanner chat FOLDER\n"
      "In a chat: /help lists the commands; Ctrl-C stops an answer, twice at the prompt leaves; Ctrl-D\n"
      "leaves. A line that ends in \\ goes on; \"\"\" begins and ends a block of lines.\n");
}

int chat_command(const ChatOptions& options, Console& console) {
  require_utf8(options.chat.system, "--system");
  const nlohmann::ordered_json tools = read_tools(options.chat);
  const auto model = load_model(options.model, console);
  refuse_media(options.chat, model->model().facts());
  model->text().chat_template();  // a folder without one cannot chat: say so now
  ChatSession session(options, model, tools, console);
  const int exit_code = talk(session, options, *model, console);
  session.keep_prompt_cache();
  return exit_code;
}

}  // namespace lanner::cli
