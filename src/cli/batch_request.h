// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/sampling_arguments.h"
#include "engine/loaded_model.h"
#include "engine/request.h"

namespace lanner::cli {

/// One line of a batch file.
struct BatchLine {
  std::size_t number = 0;  ///< in its file, from 1
  std::string text;
  std::string custom_id;
};

/// Which answer a line asks for.
enum class BatchKind : std::uint8_t { kChat, kCompletion };

struct BatchRequest {
  BatchKind kind = BatchKind::kChat;
  engine::Request request;
  std::optional<std::vector<engine::AdapterChoice>> adapters = {};  ///< that the line names; none = not
};

/// The custom_id of a line. Throws Error kCorrupt naming file and line when it is no object with one.
std::string read_custom_id(std::string_view line, const std::string& where);

/// The request of a line {"custom_id", "url": "/v1/chat/completions" or "/v1/completions", "body"}; what the
/// body leaves out comes from `arguments` and the checkpoint. Throws Error kCorrupt or kInvalidArgument
/// naming the field.
BatchRequest read_batch_request(const BatchLine& line, const SamplingArguments& arguments,
                                const engine::LoadedModel& model);

}  // namespace lanner::cli
