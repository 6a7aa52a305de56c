// SPDX-License-Identifier: MIT
#include "cli/completion_script.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace lanner::cli {
namespace {

/// Text for the inside of single quotes of any of the shells.
std::string quotable(const std::string& text, std::string_view dropped) {
  std::string safe;
  for (const char c : text)
    if (c != '\'' && c != '\\' && dropped.find(c) == std::string_view::npos) safe += c;
  return safe;
}

std::string spellings(const CompletionEntry& entry) {
  std::string words;
  for (const CompletionOption& option : entry.options)
    for (const std::string& name : option.names) words += (words.empty() ? "" : " ") + name;
  return words;
}

std::string commands(const CompletionTree& tree) {
  std::string words;
  for (const CompletionEntry& entry : tree) words += (words.empty() ? "" : " ") + entry.command;
  return words;
}

}  // namespace

CompletionTree completion_tree(const CLI::App& root) {
  CompletionTree tree;
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    CompletionEntry entry{command->get_name(), command->get_description(), {}};
    for (const CLI::Option* option : command->get_options([](const CLI::Option*) { return true; })) {
      CompletionOption shown{{}, option->get_description(), option->get_items_expected_max() > 0};
      for (const std::string& name : option->get_snames()) shown.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) shown.names.push_back("--" + name);
      if (!shown.names.empty()) entry.options.push_back(std::move(shown));
    }
    tree.push_back(std::move(entry));
  }
  return tree;
}

std::string bash_completion(const CompletionTree& tree) {
  std::string script =
      "# bash completion for lanner; made by: lanner completion bash\n"
      "_lanner() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=''\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  script += fmt::format("    words='{} --help --version'\n", commands(tree));
  script += "  else\n    case \"${COMP_WORDS[1]}\" in\n";
  for (const CompletionEntry& entry : tree)
    script += fmt::format("      {}) words='{}' ;;\n", entry.command, spellings(entry));
  script +=
      "    esac\n"
      "    case \"$word\" in -*) ;; *) words='' ;; esac\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _lanner lanner\n";
  return script;
}

std::string zsh_completion(const CompletionTree& tree) {
  std::string script =
      "#compdef lanner\n"
      "# zsh completion for lanner; made by: lanner completion zsh\n"
      "_lanner() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const CompletionEntry& entry : tree)
    script += fmt::format("    '{}:{}'\n", entry.command, quotable(entry.help, ""));
  script +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case \"${words[2]}\" in\n";
  for (const CompletionEntry& entry : tree) {
    script += fmt::format("    {})\n      _arguments '*:file:_files'", entry.command);
    for (const CompletionOption& option : entry.options)
      for (const std::string& name : option.names)
        script += fmt::format(" \\\n        '{}[{}]{}'", name, quotable(option.help, "[]:"),
                              option.takes_value ? ":value:_files" : "");
    script += " ;;\n";
  }
  script +=
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _lanner ]; then _lanner \"$@\"; else compdef _lanner lanner; fi\n";
  return script;
}

std::string fish_completion(const CompletionTree& tree) {
  std::string script = "# fish completion for lanner; made by: lanner completion fish\n";
  for (const CompletionEntry& entry : tree) {
    script += fmt::format("complete -c lanner -n __fish_use_subcommand -a {} -d '{}'\n", entry.command,
                          quotable(entry.help, ""));
    for (const CompletionOption& option : entry.options) {
      script += fmt::format("complete -c lanner -n '__fish_seen_subcommand_from {}'", entry.command);
      for (const std::string& name : option.names)
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      script += fmt::format("{} -d '{}'\n", option.takes_value ? " -r" : "", quotable(option.help, ""));
    }
  }
  return script;
}

}  // namespace lanner::cli
