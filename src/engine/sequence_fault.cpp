// SPDX-License-Identifier: MIT
#include "engine/sequence_fault.h"

#include <fmt/format.h>

#include "engine/adapter_set.h"
#include "engine/sampler.h"
#include "engine/sequence.h"
#include "io/message_text.h"

namespace lanner::engine {

Error current_fault(const Sequence& sequence) {
  try {
    throw;
  } catch (const NotFinite& error) {
    // Factors of an adapter that are finite may still be too large for what the model multiplies them with.
    const AdapterSet* adapters = sequence.request().adapters.get();
    if (adapters == nullptr) return error;
    return {
        ErrorKind::kInvalidArgument,
        fmt::format("with the adapter {} the model produces numbers that are not finite; a smaller strength, "
                    "or none of it, may help",
                    io::in_quotes(adapters->name))};
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return {ErrorKind::kInternal, error.what()};
  }
}

}  // namespace lanner::engine
