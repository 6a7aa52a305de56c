// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "models/fixture_case.h"

namespace lanner::test {

/// Compares a model with its oracle: per layer, per logit, per cached state, and while decoding.
void check_fixture(Runner& runner, const std::filesystem::path& folder);

}  // namespace lanner::test
