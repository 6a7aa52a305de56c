// SPDX-License-Identifier: MIT
#include "server/answer_format.h"

namespace lanner::server {
std::string data_event(const Json& json) { return "data: " + write_json(json) + "\n\n"; }

std::string named_event(std::string_view name, const Json& json) {
  return "event: " + std::string(name) + "\n" + data_event(json);
}

}  // namespace lanner::server
