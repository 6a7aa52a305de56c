// SPDX-License-Identifier: MIT
#include "cli/edit_line_reader.h"

#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <cwchar>
#include <system_error>

#include "core/error.h"

namespace lanner::cli {
namespace {

constexpr int kHistoryEntries = 1000;
/// A signal that comes between a look and the wait after it does not end that wait.
constexpr int kBetweenLooksMs = 50;
constexpr auto kBrokenCharacter = static_cast<std::size_t>(-1);
constexpr auto kUnfinishedCharacter = static_cast<std::size_t>(-2);

/// libedit decodes bytes by the process's locale; a plain "C" locale would cut UTF-8 apart.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
}

/// False when a signal came before there is anything to read.
bool wait_for_input(const InterruptWatch& watch) {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (!watch.raised() && ::poll(&input, 1, kBetweenLooksMs) <= 0) {
  }
  return !watch.raised();
}

/// Takes a byte into a character. A broken sequence is dropped; the byte that broke it may begin another.
std::size_t add_byte(char byte, wchar_t& character, std::mbstate_t& state) {
  std::size_t bytes = std::mbrtowc(&character, &byte, 1, &state);
  if (bytes == kBrokenCharacter) {
    state = {};
    bytes = std::mbrtowc(&character, &byte, 1, &state);
  }
  if (bytes == kBrokenCharacter) state = {};
  return bytes;
}

}  // namespace

struct EditLineReader::Editor {
  EditLine* edit = nullptr;
  History* history = nullptr;
  std::string prompt;
  std::optional<std::filesystem::path> file;
  InterruptWatch& watch;

  explicit Editor(InterruptWatch& signals) : watch(signals) {}
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;
  ~Editor() {
    if (edit != nullptr) el_end(edit);
    if (history != nullptr) history_end(history);
  }

  static Editor& of(EditLine* edit) {
    Editor* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return *self;
  }

  static char* show_prompt(EditLine* edit) { return of(edit).prompt.data(); }

  /// Gives the editor the next character and returns 1; 0 or less at the end. Ctrl-C reads as Enter, with
  /// which the editor goes below the line; what was typed after it stays for the next line.
  static int read_character(EditLine* edit, wchar_t* character) {
    std::mbstate_t state{};
    while (wait_for_input(of(edit).watch)) {
      char byte = 0;
      const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return static_cast<int>(count);
      const std::size_t bytes = add_byte(byte, *character, state);
      if (bytes != kBrokenCharacter && bytes != kUnfinishedCharacter) return 1;
    }
    *character = L'\n';
    return 1;
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

EditLineReader::EditLineReader(std::optional<std::filesystem::path> history_file, InterruptWatch& watch)
    : editor_(std::make_unique<Editor>(watch)) {
  use_utf8();
  editor_->file = std::move(history_file);
  editor_->edit = el_init("lanner", stdin, stderr, stderr);
  editor_->history = history_init();
  if (editor_->edit == nullptr || editor_->history == nullptr)
    throw Error(ErrorKind::kIo, "the terminal could not be set up for editing; pipe the messages instead");
  el_set(editor_->edit, EL_CLIENTDATA, editor_.get());
  el_set(editor_->edit, EL_PROMPT, &Editor::show_prompt);
  el_set(editor_->edit, EL_GETCFN, &Editor::read_character);
  el_set(editor_->edit, EL_HIST, history, editor_->history);
  el_set(editor_->edit, EL_SIGNAL, 0);
  editor_->bind_keys();
  editor_->load_history();
}

EditLineReader::~EditLineReader() = default;

Line EditLineReader::read(const std::string& prompt) {
  editor_->prompt = prompt;
  el_resize(editor_->edit);  // the window may have changed during the last answer
  int bytes = 0;
  const char* text = el_gets(editor_->edit, &bytes);
  if (text == nullptr || bytes <= 0) {
    std::fputs("\n", stderr);
    return {};
  }
  Line line{LineStatus::kLine, std::string(text, static_cast<std::size_t>(bytes))};
  if (line.text.ends_with('\n')) line.text.pop_back();
  if (editor_->watch.raised()) {
    line.status = LineStatus::kInterrupted;
    editor_->watch.clear();
  }
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
