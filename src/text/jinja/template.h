// SPDX-License-Identifier: MIT
#pragma once

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/jinja/runtime.h"

namespace lanner::text::jinja {

struct SyntaxTree;

struct RenderInput {
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  ///< By name, from the application.
  nlohmann::ordered_json user_variables =
      nlohmann::ordered_json::object();  ///< By name, whose text users wrote.
  std::time_t now = 0;                   ///< What strftime_now formats; 0 is the current time.
};

struct Rendering {
  std::string text;
  LiteralSpans literal;  ///< What of it came out of user_variables.
};

/// A Jinja2 template, compiled once. Behaves as Jinja2 3.1's ImmutableSandboxedEnvironment with trim_blocks,
/// lstrip_blocks, the loopcontrols extension and what transformers adds for chat templates (tojson without
/// HTML escaping, raise_exception, strftime_now, the generation tag). Immutable: one object may serve many
/// threads.
class Template {
 public:
  /// Throws Error "NAME line N: ..." on syntax errors.
  explicit Template(std::string_view source, std::string name = "chat_template.jinja");
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  /// Throws Error "NAME line N: ..." for raise_exception, type errors and exceeded limits.
  Rendering render(const RenderInput& input, const Limits& limits = {}) const;

 private:
  std::string name_;
  std::unique_ptr<const SyntaxTree> tree_;
};

}  // namespace lanner::text::jinja
