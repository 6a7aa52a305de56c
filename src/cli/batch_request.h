// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "cli/sampling_arguments.h"
#include "server/generation_plan.h"

namespace lanner::cli {

/// One line of a batch file.
struct BatchLine {
  std::size_t number = 0;  ///< in its file, from 1
  std::string text;
  std::string custom_id;  ///< empty: the line has none that can be read

  /// What its result is called.
  std::string result_id() const { return "line-" + std::to_string(number); }
};

/// The custom_id of a line; empty when it is no object with one.
std::string read_custom_id(std::string_view line);

/// Makes the options of the command line the defaults that lines are read with.
void set_defaults(const SamplingArguments& arguments, const engine::LoadedModel& model,
                  server::RequestRules& rules);

/// What a line {"custom_id", "url": "/v1/chat/completions" or "/v1/completions", "body"} asks for. Its body
/// is read as the server reads it; what it leaves out comes from `arguments` and the checkpoint. Throws
/// server::RequestError naming the field.
server::GenerationPlan batch_plan(const BatchLine& line, const SamplingArguments& arguments,
                                  const server::ServedModel& served);

}  // namespace lanner::cli
