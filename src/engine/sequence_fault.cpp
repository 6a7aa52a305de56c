// SPDX-License-Identifier: MIT
#include "engine/sequence_fault.h"

#include "engine/adapter_fault.h"
#include "engine/sequence.h"

namespace lanner::engine {

Error current_fault(const Sequence& sequence) {
  try {
    throw;
  } catch (const NotFinite& error) {
    const AdapterSet* adapters = sequence.request().adapters.get();
    if (adapters == nullptr) return error;
    return broken_by(*adapters);
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return {ErrorKind::kInternal, error.what()};
  }
}

}  // namespace lanner::engine
