// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "engine/request.h"
#include "server/json_fields.h"
#include "server/metrics.h"
#include "server/request_rules.h"

namespace lanner::server {

/// adapter ("a", "a@0.5+b", "none", or [{"id", "weight"}]), else the one in the model's name, else the
/// server's default. Throws RequestError, 404 for one that is not mounted.
void read_adapters(const JsonFields& fields, const RequestRules& rules,
                   const std::optional<std::string>& of_model, engine::Request& request);

/// Counts a request for each of its adapters.
void count_adapters(Metrics& metrics, const engine::Request& request);

}  // namespace lanner::server
