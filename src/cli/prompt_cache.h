// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "cli/cli11_app.h"
#include "cli/console.h"
#include "engine/engine.h"

namespace lanner::cli {

/// A file that keeps what a prompt left in the caches from one run of the program to the next.
struct PromptCacheArguments {
  std::string file = {};  ///< empty = none
  bool read_only = false;
};

/// Adds --prompt-cache and --prompt-cache-ro, as llama.cpp spells them.
void add_prompt_cache_options(CLI::App& app, PromptCacheArguments& arguments);

/// What a prompt cache is of, beside the engine's model.
struct CachedPrompt {
  std::span<const TokenId> ids;
  const engine::AdapterSet* adapters = nullptr;  ///< that it is computed with
};

/// Reads the file when there is one. Throws Error for a file that is damaged, or of another model or other
/// adapters.
void load_prompt_cache(const PromptCacheArguments& arguments, engine::Engine& engine,
                       const engine::AdapterSet* adapters);

/// Writes the longest beginning of the prompt that the engine knows, and says so. Throws Error kIo.
void save_prompt_cache(const PromptCacheArguments& arguments, engine::Engine& engine,
                       const CachedPrompt& prompt, Console& console);

}  // namespace lanner::cli
