// SPDX-License-Identifier: MIT
#pragma once

#include "cli/console.h"
#include "cli/model_arguments.h"

namespace lanner::cli {

struct InfoOptions {
  ModelArguments model = {};
  bool json = false;
};

void declare_info(CLI::App& app, InfoOptions& options);

/// lanner info [FOLDER]: what is in a checkpoint and how lanner would run it.
int info_command(const InfoOptions& options, Console& console);

}  // namespace lanner::cli
