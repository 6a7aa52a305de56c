// SPDX-License-Identifier: MIT
#include "cli/prompt_cache.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/validators.h"
#include "io/message_text.h"

namespace lanner::cli {
namespace {

constexpr const char* kPromptCacheGroup = "Prompt cache";

}  // namespace

void add_prompt_cache_options(CLI::App& app, PromptCacheArguments& arguments) {
  app.add_option("--prompt-cache", arguments.file,
                 "begin with the caches kept in FILE, when it is there, and keep them there at the end")
      ->type_name("FILE")
      ->check(not_empty())
      ->group(kPromptCacheGroup);
  app.add_flag("--prompt-cache-ro", arguments.read_only, "leave the file as it is")->group(kPromptCacheGroup);
}

void load_prompt_cache(const PromptCacheArguments& arguments, engine::Engine& engine,
                       const engine::AdapterSet* adapters) {
  std::error_code ignored;
  if (!arguments.file.empty() && std::filesystem::exists(arguments.file, ignored))
    engine.restore_state(arguments.file, adapters);
}

void save_prompt_cache(const PromptCacheArguments& arguments, engine::Engine& engine,
                       const CachedPrompt& prompt, Console& console) {
  if (arguments.file.empty() || arguments.read_only || prompt.ids.empty()) return;
  const std::size_t tokens = engine.save_prefix(arguments.file, prompt.ids, prompt.adapters);
  if (tokens > 0)
    console.log << fmt::format("{} tokens are kept in {}\n", tokens, io::printable(arguments.file));
}

}  // namespace lanner::cli
