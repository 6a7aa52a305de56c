// SPDX-License-Identifier: MIT
#pragma once

/// Declares CLI11's class, so that only the files that build the option tree pay for its header.
namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}  // namespace CLI
