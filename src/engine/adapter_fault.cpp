// SPDX-License-Identifier: MIT
#include "engine/adapter_fault.h"

#include <fmt/format.h>

#include "io/message_text.h"

namespace lanner::engine {

Error broken_by(const AdapterSet& adapters) {
  return {
      ErrorKind::kInvalidArgument,
      fmt::format("with the adapter {} the model produces numbers that are not finite; a smaller strength, "
                  "or none of it, may help",
                  io::in_quotes(adapters.name))};
}

}  // namespace lanner::engine
