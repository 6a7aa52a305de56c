// SPDX-License-Identifier: MIT
#include "cli/edit_line_reader.h"

#include <histedit.h>
#include <langinfo.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "cli/interrupt.h"
#include "core/error.h"

namespace lanner::cli {
namespace {

constexpr int kHistoryEntries = 1000;

/// libedit decodes bytes by the process's locale; a plain "C" locale would cut UTF-8 apart.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace

struct EditLineReader::Editor {
  EditLine* edit = nullptr;
  History* history = nullptr;
  std::string prompt;
  std::optional<std::filesystem::path> file;

  Editor() = default;
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;
  ~Editor() {
    if (edit != nullptr) el_end(edit);
    if (history != nullptr) history_end(history);
  }

  static char* show_prompt(EditLine* edit) {
    Editor* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return self->prompt.data();
  }

  void bind_keys() const {
    el_set(edit, EL_EDITOR, "emacs");
    el_set(edit, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_set(edit, EL_BIND, "\\e[3~", "ed-delete-next-char", nullptr);
    el_set(edit, EL_BIND, "\\e[1;5D", "ed-prev-word", nullptr);
    el_set(edit, EL_BIND, "\\e[1;5C", "em-next-word", nullptr);
  }

  void load_history() {
    HistEvent event;
    ::history(history, &event, H_SETSIZE, kHistoryEntries);
    ::history(history, &event, H_SETUNIQUE, 1);
    if (!file) return;
    std::error_code error;
    std::filesystem::create_directories(file->parent_path(), error);
    ::history(history, &event, H_LOAD, file->c_str());  // fails when there is none yet
  }

  void save_history() {
    HistEvent event;
    if (file) ::history(history, &event, H_SAVE, file->c_str());  // a folder that is not writable is no fault
  }
};

EditLineReader::EditLineReader(std::optional<std::filesystem::path> history_file)
    : editor_(std::make_unique<Editor>()) {
  use_utf8();
  editor_->file = std::move(history_file);
  editor_->edit = el_init("lanner", stdin, stderr, stderr);
  editor_->history = history_init();
  if (editor_->edit == nullptr || editor_->history == nullptr)
    throw Error(ErrorKind::kIo, "the terminal could not be set up for editing; pipe the messages instead");
  el_set(editor_->edit, EL_CLIENTDATA, editor_.get());
  el_set(editor_->edit, EL_PROMPT, &Editor::show_prompt);
  el_set(editor_->edit, EL_HIST, history, editor_->history);
  el_set(editor_->edit, EL_SIGNAL, 0);
  editor_->bind_keys();
  editor_->load_history();
}

EditLineReader::~EditLineReader() = default;

Line EditLineReader::read(const std::string& prompt) {
  const InterruptWatch watch;
  editor_->prompt = prompt;
  el_resize(editor_->edit);  // the window may have changed during the last answer
  int bytes = 0;
  const char* text = el_gets(editor_->edit, &bytes);
  if (watch.raised()) {
    std::fputs("\n", stderr);
    const LineInfo* typed = el_line(editor_->edit);
    return {LineStatus::kInterrupted, std::string(typed->buffer, typed->lastchar)};
  }
  if (text == nullptr || bytes <= 0) {
    std::fputs("\n", stderr);
    return {};
  }
  Line line{LineStatus::kLine, std::string(text, static_cast<std::size_t>(bytes))};
  if (line.text.ends_with('\n')) line.text.pop_back();
  return line;
}

void EditLineReader::remember(const std::string& message) {
  // One entry is one line of the screen; a block comes back with its lines joined.
  std::string entry = message;
  std::ranges::replace(entry, '\n', ' ');
  HistEvent event;
  history(editor_->history, &event, H_ENTER, entry.c_str());
  editor_->save_history();
}

}  // namespace lanner::cli
