// SPDX-License-Identifier: MIT
#include "text/output_parser_tools.h"

#include <algorithm>

namespace lanner::text {

DeclaredTools::DeclaredTools(const nlohmann::ordered_json& tools) {
  if (!tools.is_array()) return;
  for (const auto& tool : tools) {
    if (!tool.is_object()) continue;
    const auto& function = tool.contains("function") ? tool["function"] : tool;
    if (!function.is_object() || !function.contains("name") || !function["name"].is_string()) continue;
    names_.push_back(function["name"].get<std::string>());
    parameters_.push_back(function.contains("parameters") ? function["parameters"]
                                                          : nlohmann::ordered_json());
  }
}

bool DeclaredTools::contains(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

ValueSchema DeclaredTools::arguments(std::string_view name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  return at == names_.end() ? ValueSchema()
                            : ValueSchema(&parameters_[static_cast<size_t>(at - names_.begin())]);
}

void EventWriter::add_text(OutputEvent::Kind kind, std::string_view text) {
  if (text.empty()) return;
  if (!events_.empty() && events_.back().kind == kind)
    events_.back().text += text;
  else
    events_.push_back({kind, std::string(text)});
}

void EventWriter::start_call(std::string_view name) {
  open_ = true;
  held_ = !tools_->contains(name);
  if (held_) {
    held_name_ = name;
    held_arguments_.clear();
  } else {
    events_.push_back({OutputEvent::Kind::kToolStart, std::string(name), calls_});
  }
}

void EventWriter::arguments(std::string_view json) {
  if (held_) {
    held_arguments_ += json;
  } else if (!events_.empty() && events_.back().kind == OutputEvent::Kind::kToolArguments) {
    events_.back().text += json;
  } else {
    events_.push_back({OutputEvent::Kind::kToolArguments, std::string(json), calls_});
  }
}

bool EventWriter::end_call() {
  const std::string markup = std::exchange(markup_, {});
  open_ = false;
  if (held_ && unknown_ == UnknownTools::kAsContent) {
    held_ = false;
    content(markup);
    return false;
  }
  if (std::exchange(held_, false)) {
    events_.push_back({OutputEvent::Kind::kToolStart, std::move(held_name_), calls_});
    events_.push_back({OutputEvent::Kind::kToolArguments, std::move(held_arguments_), calls_});
  }
  events_.push_back({OutputEvent::Kind::kToolEnd, {}, calls_});
  ++calls_;
  return true;
}

void EventWriter::break_off_call() {
  const std::string markup = std::exchange(markup_, {});
  const bool sent = std::exchange(open_, false) && !std::exchange(held_, false);
  if (!sent) return content(markup);
  events_.push_back({OutputEvent::Kind::kToolBroken, markup, calls_});
  ++calls_;
}

ParsedOutput collect_output(std::span<const OutputEvent> events) {
  ParsedOutput output;
  ParsedOutput::ToolCall call;
  for (const OutputEvent& event : events) {
    switch (event.kind) {
      case OutputEvent::Kind::kReasoning:
        output.reasoning += event.text;
        break;
      case OutputEvent::Kind::kContent:
      case OutputEvent::Kind::kToolBroken:
        output.content += event.text;
        break;
      case OutputEvent::Kind::kToolStart:
        call = {event.text, {}};
        break;
      case OutputEvent::Kind::kToolArguments:
        call.arguments += event.text;
        break;
      case OutputEvent::Kind::kToolEnd:
        output.tool_calls.push_back(std::exchange(call, {}));
        break;
    }
  }
  return output;
}

}  // namespace lanner::text
