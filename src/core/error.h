// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace lanner {

/// What went wrong, coarse enough that a front end can pick an exit code or an HTTP status.
enum class ErrorKind {
  kInvalidArgument,  ///< The caller asked for something impossible (option, prompt, image to a text model).
  kNotFound,         ///< A file, folder or named model does not exist.
  kIo,               ///< The operating system refused: permissions, full disk, short read.
  kCorrupt,          ///< A file's bytes contradict their format, or two files contradict each other.
  kUnsupported,  ///< Well formed, but outside what lanner runs (unknown model_type, dtype, template feature).
  kOutOfMemory,  ///< Memory could not be had.
  kInternal,     ///< A bug in lanner: a shape or invariant its own code broke.
};

/// The one exception type. The message is one line in the user's words: where, what was found, what was
/// expected and why, then what to do when that is known. Caught by cli main, the server's handler and the
/// engine's worker only.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace lanner
