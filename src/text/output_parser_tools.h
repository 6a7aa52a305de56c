// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/output_parser_events.h"
#include "text/output_parser_schema.h"

namespace lanner::text {

/// What happens to a call of a tool that was not declared.
enum class UnknownTools : std::uint8_t {
  kEmit,       ///< It is passed on, but only once it is complete.
  kAsContent,  ///< Its markup is content.
};

/// The declared tools of a request, by name.
class DeclaredTools {
 public:
  /// `tools` in OpenAI form; null or empty means that no calls are possible.
  explicit DeclaredTools(const nlohmann::ordered_json& tools);

  bool any() const { return !names_.empty(); }
  bool contains(std::string_view name) const;
  /// Schema of the arguments object; empty for unknown tools.
  ValueSchema arguments(std::string_view name) const;

 private:
  std::vector<std::string> names_;
  std::vector<nlohmann::ordered_json> parameters_;
};

/// Collects events, and turns the parts of tool calls into events by the rules for unknown tools and broken
/// markup.
class EventWriter {
 public:
  EventWriter(std::shared_ptr<const DeclaredTools> tools, UnknownTools unknown)
      : tools_(std::move(tools)), unknown_(unknown) {}

  const DeclaredTools& tools() const { return *tools_; }

  void reasoning(std::string_view text) { add_text(OutputEvent::Kind::kReasoning, text); }
  void content(std::string_view text) { add_text(OutputEvent::Kind::kContent, text); }

  /// Remembers the markup of the call being read, for break_off_call().
  void markup(std::string_view text) { markup_ += text; }
  void start_call(std::string_view name);
  void arguments(std::string_view json);
  /// False when the call became content, being of an unknown tool.
  bool end_call();
  /// Takes back the last bytes of the markup: they are not part of the call.
  void drop_markup(std::size_t bytes) { markup_.resize(markup_.size() - bytes); }
  /// The call's syntax is broken: what was not sent as a call becomes content.
  void break_off_call();

  bool in_call() const { return open_; }
  std::size_t calls() const { return calls_; }
  /// Hands out the events since the last time.
  std::vector<OutputEvent> take() { return std::exchange(events_, {}); }

 private:
  void add_text(OutputEvent::Kind kind, std::string_view text);

  std::shared_ptr<const DeclaredTools> tools_;
  UnknownTools unknown_;
  std::vector<OutputEvent> events_;
  std::string markup_;
  std::size_t calls_ = 0;  ///< Calls started so far, not counting withdrawn ones.
  bool open_ = false;
  bool held_ = false;  ///< The open call's events wait for its end.
  std::string held_name_, held_arguments_;
};

}  // namespace lanner::text
