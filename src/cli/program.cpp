// SPDX-License-Identifier: MIT
#include "cli/program.h"

#include <fmt/format.h>

#include <new>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "core/error.h"

namespace lanner::cli {
namespace {

int report(Console& console, int exit_code, std::string message) {
  for (char& c : message)
    if (c == '\n') c = ' ';
  console.log << "lanner: error: " << message << std::endl;
  return exit_code;
}

int parse_and_run(CommandLine& line, const std::vector<std::string>& arguments, Console& console) {
  try {
    line.parse(arguments);
    const int exit_code = line.run(console);
    flush_output(console);
    return exit_code;
  } catch (const CLI::CallForHelp&) {
    console.out << line.app().help();
  } catch (const CLI::CallForVersion& version) {
    console.out << version.what() << '\n';
  } catch (const CLI::ParseError& error) {
    return report(console, kExitUsage, fmt::format("{}; see {} --help", error.what(), line.command_name()));
  }
  flush_output(console);
  return kExitOk;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, const Environment& environment, Console& console) {
  try {
    CommandLine line(environment);
    return parse_and_run(line, arguments, console);
  } catch (const Error& error) {
    return report(console, exit_code_of(error.kind()), error.what());
  } catch (const Interrupted& interrupted) {
    return interrupted.exit_code();
  } catch (const std::bad_alloc&) {
    return report(console, kExitOutOfMemory, "out of memory; close other programs or take a smaller model");
  } catch (const std::exception& error) {
    return report(console, kExitInternal, fmt::format("a fault in lanner itself: {}", error.what()));
  } catch (...) {
    return report(console, kExitInternal, "a fault in lanner itself");
  }
}

}  // namespace lanner::cli
