// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli11_app.h"
#include "cli/console.h"
#include "engine/engine.h"

namespace lanner::cli {

/// Adapters that the user named.
struct AdapterArguments {
  std::vector<std::string> given = {};  ///< [ID=]FOLDER[@SCALE]
};

/// Adds --adapter; `use` says in the help what they are for.
void add_adapter_option(CLI::App& app, AdapterArguments& arguments, const std::string& use);

/// One of them: where it is, what it is called and how strong it is.
struct NamedAdapter {
  std::string id;
  std::filesystem::path folder;
  float scale = 1;
};

/// Takes "[ID=]FOLDER[@SCALE]" apart; a text that is a folder's path as it stands is one. Without ID an
/// adapter is called like its folder. Throws Error kInvalidArgument when that cannot be an id.
NamedAdapter parse_named_adapter(const std::string& text);

/// Mounts all of them, and returns them as one choice in the order given; nullptr when there are none. What
/// their owner may want to know goes to the console's log. Throws Error as Engine::mount_adapter(), and
/// kInvalidArgument when two have one id.
std::shared_ptr<const engine::AdapterSet> mount_adapters(const AdapterArguments& arguments,
                                                         engine::Engine& engine, Console& console);
/// The same for a model without an engine.
std::shared_ptr<const engine::AdapterSet> read_adapters(const AdapterArguments& arguments,
                                                        const models::Model& model, const device::Ops& ops,
                                                        Console& console);

}  // namespace lanner::cli
