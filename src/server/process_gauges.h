// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace lanner::server {

/// The standard process_* metrics of Prometheus, from /proc; without those that cannot be read.
std::string process_gauges();

}  // namespace lanner::server
