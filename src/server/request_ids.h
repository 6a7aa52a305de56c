// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lanner::server {

/// `prefix` and 24 letters and digits nobody can guess.
std::string random_id(std::string_view prefix);
/// A seed nobody chose, exact in a JSON number.
std::uint64_t random_seed();
/// `prefix` and 24 letters and digits that follow from the seed and the place: the ids of tool calls, which
/// are the same whenever an answer is made again.
std::string seeded_id(std::string_view prefix, std::uint64_t seed, std::uint64_t choice, std::uint64_t call);
/// Whether a caller's id may be echoed: [A-Za-z0-9._:-]{1,128}.
bool is_request_id(std::string_view text);

}  // namespace lanner::server
