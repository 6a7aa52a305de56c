// SPDX-License-Identifier: MIT
// A chat in the terminal: chat FOLDER. Each line is a message; answers appear token by token.
#include <iostream>
#include <lanner/lanner.hpp>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: chat FOLDER\n";
    return 2;
  }
  try {
    lanner::api::Model model(argv[1]);
    std::vector<lanner::api::Message> messages;
    std::string line;
    while (std::cout << "> " << std::flush && std::getline(std::cin, line)) {
      messages.push_back({"user", line});
      // What earlier turns computed is known: only the new message is read.
      lanner::api::Answer answer = model.chat(messages, {.max_tokens = 200});
      while (const std::optional<lanner::api::Token> token = answer.next())
        if (token->part == lanner::api::Part::kContent) std::cout << token->text << std::flush;
      const lanner::api::Result& result = answer.result();
      std::cerr << "\n[" << result.prompt_tokens << " tokens of prompt, " << result.cached_tokens
                << " known; " << result.generated_tokens << " of answer]\n";
      messages.push_back({"assistant", result.content});
    }
  } catch (const lanner::api::Error& error) {
    std::cerr << "chat: " << error.what() << '\n';
    return 1;
  }
}
