// SPDX-License-Identifier: MIT
#include "cli/adapter_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <functional>

#include "cli/validators.h"
#include "core/error.h"
#include "io/message_text.h"

namespace lanner::cli {
namespace {

namespace fs = std::filesystem;

bool folder_exists(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

using Mount = std::function<engine::MountResult(const NamedAdapter&)>;

/// Mounts what was named; → the choice of all of it.
std::vector<engine::AdapterChoice> mount_all(const AdapterArguments& arguments, const Mount& mount) {
  std::vector<engine::AdapterChoice> choices;
  for (const std::string& text : arguments.given) {
    const NamedAdapter named = parse_named_adapter(text);
    if (mount(named) != engine::MountResult::kMounted)
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--adapter {}: another adapter is called {} already, name one with ID=FOLDER",
                              io::in_quotes(text), io::in_quotes(named.id)));
    choices.push_back({.id = named.id});
  }
  return choices;
}

void tell_remarks(const engine::AdapterRegistry& registry, Console& console) {
  for (const engine::MountedAdapter& mounted : registry.list())
    for (const std::string& remark : mounted.adapter->remarks)
      console.log << "lanner: adapter " << mounted.id << ": " << remark << '\n';
}

}  // namespace

void add_adapter_option(CLI::App& app, AdapterArguments& arguments, const std::string& use) {
  app.add_option(
         "--adapter", arguments.given,
         "folder of a LoRA adapter (PEFT or mlx-lm), perhaps with a strength; may be repeated: " + use)
      ->type_name("[ID=]FOLDER[@SCALE]")
      ->check(not_empty())
      ->take_all()
      ->allow_extra_args(false)
      ->group("Adapters");
}

NamedAdapter parse_named_adapter(const std::string& text) {
  NamedAdapter named;
  std::string folder = text;
  if (const std::size_t equals = folder.find('='); !folder_exists(folder) && equals != std::string::npos &&
                                                   engine::is_adapter_id(folder.substr(0, equals))) {
    named.id = folder.substr(0, equals);
    folder = folder.substr(equals + 1);
  }
  if (const std::size_t at = folder.rfind('@'); !folder_exists(folder) && at != std::string::npos) {
    const char* const end = folder.data() + folder.size();
    const auto [stop, error] = std::from_chars(folder.data() + at + 1, end, named.scale);
    if (error == std::errc() && stop == end)
      folder = folder.substr(0, at);
    else
      named.scale = 1;
  }
  named.folder = folder;
  if (named.id.empty()) named.id = fs::weakly_canonical(folder).filename().string();
  if (!engine::is_adapter_id(named.id))
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--adapter {}: {} cannot be an adapter's id (A-Z a-z 0-9 . _ -); name it with "
                            "ID=FOLDER",
                            io::in_quotes(text), io::in_quotes(named.id)));
  return named;
}

std::shared_ptr<const engine::AdapterSet> mount_adapters(const AdapterArguments& arguments,
                                                         engine::Engine& engine, Console& console) {
  const auto choices = mount_all(arguments, [&](const NamedAdapter& named) {
    return engine.mount_adapter(named.id, named.folder, named.scale);
  });
  tell_remarks(engine.adapters(), console);
  return engine.adapters().select(choices);
}

std::shared_ptr<const engine::AdapterSet> read_adapters(const AdapterArguments& arguments,
                                                        const models::Model& model, const device::Ops& ops,
                                                        Console& console) {
  engine::AdapterRegistry registry;
  const auto choices = mount_all(arguments, [&](const NamedAdapter& named) {
    return registry.mount(named.id, named.folder, models::read_adapter(named.folder, model, ops),
                          named.scale);
  });
  tell_remarks(registry, console);
  return registry.select(choices);
}

}  // namespace lanner::cli
