// SPDX-License-Identifier: MIT
#include "cli/chat_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/chat_session.h"
#include "cli/edit_line_reader.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/model_loading.h"
#include "cli/prompt_source.h"
#include "core/error.h"
#include "io/message_text.h"

namespace lanner::cli {
namespace {

constexpr const char* kPrompt = "> ";

void greet(const engine::LoadedModel& model, Console& console) {
  console.log << fmt::format("{} ({}, context {} tokens). /help lists the commands, Ctrl-D leaves.\n",
                             io::printable(model.checkpoint().folder().native()),
                             model.model().facts().family, model.model().facts().context)
              << std::flush;
}

bool is_blank(const std::string& message) { return message.find_first_not_of(" \t\n") == std::string::npos; }

/// Handles one message; a failure is told and the conversation goes on.
ChatSession::Next handle(ChatSession& session, const std::string& message, Console& console) {
  try {
    return session.handle(message);
  } catch (const Error& error) {
    console.log << "lanner: error: " << error.what() << std::endl;
    return ChatSession::Next::kGoOn;
  }
}

/// A conversation at a terminal, to its end; returns the exit code.
int talk(ChatSession& session, EditLineReader& reader, InterruptWatch& watch, Console& console) {
  bool interrupted = false;
  for (;;) {
    const Line message = read_message(reader, kPrompt);
    if (message.status == LineStatus::kEnd) return kExitOk;
    if (message.status == LineStatus::kInterrupted) {
      if (!message.text.empty()) continue;  // it only took the line away
      if (interrupted) return kExitInterrupted;
      interrupted = true;
      console.log << "Ctrl-C again or Ctrl-D leaves.\n" << std::flush;
      continue;
    }
    interrupted = false;
    if (is_blank(message.text)) continue;
    reader.remember(message.text);
    if (handle(session, message.text, console) == ChatSession::Next::kLeave) return kExitOk;
    watch.clear();
  }
}

/// A conversation whose messages are the lines of a pipe; its first failure is thrown. Ctrl-C ends it.
int follow_script(ChatSession& session, Console& console) {
  StreamLineReader reader(console.in);
  for (;;) {
    const Line message = read_message(reader, kPrompt);
    if (message.status == LineStatus::kEnd) return kExitOk;
    if (is_blank(message.text)) continue;
    const ChatSession::Next next = session.handle(message.text);
    if (next == ChatSession::Next::kLeave) return kExitOk;
    if (next == ChatSession::Next::kInterrupted) return kExitInterrupted;
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
  if (!console.terminal.in) {
    const int exit_code = follow_script(session, console);
    session.keep_prompt_cache();
    return exit_code;
  }
  InterruptWatch watch;  // from here on Ctrl-C costs nobody a conversation
  EditLineReader reader(options.history, watch);
  greet(*model, console);
  const int exit_code = talk(session, reader, watch, console);
  session.keep_prompt_cache();
  return exit_code;
}

}  // namespace lanner::cli
