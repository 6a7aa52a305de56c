// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace lanner::text::jinja {

/// What a template did wrong, after the Python exception that Jinja2 would raise.
enum class FaultKind {
  kTemplate,     ///< raise_exception(), and rules of the template language itself.
  kUndefined,    ///< An undefined value was used where its value matters.
  kSecurity,     ///< The sandbox forbids it (changing a list or dict, private attributes).
  kType,         ///< TypeError and AttributeError.
  kValue,        ///< ValueError, KeyError, IndexError, ZeroDivisionError, OverflowError, AssertionError.
  kLimit,        ///< A resource limit of this engine.
  kUnsupported,  ///< Valid Jinja that this engine does not run (template inheritance, autoescaping).
};

/// Thrown inside the engine; Template adds the line number and turns it into lanner::Error.
class Fault : public std::runtime_error {
 public:
  Fault(FaultKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  FaultKind kind() const { return kind_; }

 private:
  FaultKind kind_;
};

}  // namespace lanner::text::jinja
