// SPDX-License-Identifier: MIT
#include "cli/machine_limits.h"

#include <fmt/format.h>

#include <fstream>

#include "core/error.h"
#include "io/atomic_file.h"
#include "io/file_error.h"
#include "io/json.h"

namespace lanner::cli {
namespace {

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line))
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown";
}

std::string name_of(const LimitsKey& key) { return fmt::format("{} {} threads", name(key.isa), key.threads); }

/// An object of limits by key; empty when there is none of this processor.
io::Json read_all(const std::filesystem::path& file) {
  try {
    const io::Json all = io::load_json(file);
    if (all.is_object() && all.value("processor", "") == processor_name() && all.contains("limits") &&
        all["limits"].is_object())
      return all["limits"];
  } catch (const Error&) {  // measured anew when somebody asks for it
  } catch (const io::Json::exception&) {
  }
  return io::Json::object();
}

double number_of(const io::Json& limits, const char* field) {
  const auto found = limits.find(field);
  return found != limits.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

std::optional<std::filesystem::path> machine_limits_file(const Environment& environment) {
  std::filesystem::path cache;
  if (!environment.hub.xdg_cache_home.empty())
    cache = environment.hub.xdg_cache_home;
  else if (!environment.hub.home.empty())
    cache = std::filesystem::path(environment.hub.home) / ".cache";
  else
    return std::nullopt;
  return cache / "lanner" / "machine.json";
}

std::optional<device::Roofline> read_machine_limits(const std::filesystem::path& file, const LimitsKey& key) {
  const io::Json all = read_all(file);
  const auto found = all.find(name_of(key));
  if (found == all.end() || !found->is_object()) return std::nullopt;
  const device::Roofline limits{.read_bytes_per_second = number_of(*found, "read_bytes_per_second"),
                                .float_ops_per_second = number_of(*found, "float_ops_per_second"),
                                .int8_ops_per_second = number_of(*found, "int8_ops_per_second")};
  const bool sensible =
      limits.read_bytes_per_second > 0 && limits.float_ops_per_second > 0 && limits.int8_ops_per_second > 0;
  return sensible ? std::optional(limits) : std::nullopt;
}

void write_machine_limits(const std::filesystem::path& file, const LimitsKey& key,
                          const device::Roofline& limits) {
  io::Json all = read_all(file);
  all[name_of(key)] = {{"read_bytes_per_second", limits.read_bytes_per_second},
                       {"float_ops_per_second", limits.float_ops_per_second},
                       {"int8_ops_per_second", limits.int8_ops_per_second}};
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  if (failed)
    throw Error(ErrorKind::kIo, fmt::format("{}: the folder cannot be made: {}", file.parent_path().string(),
                                            failed.message()));
  io::write_text_file(file, io::Json{{"processor", processor_name()}, {"limits", all}}.dump(2) + '\n');
}

}  // namespace lanner::cli
