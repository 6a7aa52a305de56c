// SPDX-License-Identifier: MIT
#pragma once

#include "engine/sampling_options.h"
#include "server/json_fields.h"
#include "server/request_rules.h"

namespace lanner::server {

/// Reads how tokens are chosen: temperature, truncation, penalties, biases and the samplers of
/// read_samplers(). Throws RequestError.
engine::SamplingOptions read_sampling(const JsonFields& fields, const RequestRules& rules);

/// The rarer samplers: typical_p, top_n_sigma, xtc_*, dry_*, mirostat*, dynatemp_*, adaptive_*, hlg, curve,
/// samplers. Throws RequestError.
void read_samplers(const JsonFields& fields, engine::SamplingOptions& options);

}  // namespace lanner::server
