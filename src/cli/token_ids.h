// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cli/cli11_app.h"
#include "core/token.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class Option;
}  // namespace CLI

namespace lanner::cli {

/// Adds an option whose values are token ids with commas between; given several times they add up.
CLI::Option* add_token_ids(CLI::App& app, const std::string& name, std::vector<TokenId>& ids,
                           const std::string& help);

}  // namespace lanner::cli
