// SPDX-License-Identifier: MIT
#include "engine/sequence_fault.h"

#include "engine/adapter_fault.h"
#include "engine/sequence.h"
#include "text/grammar/work.h"

namespace lanner::engine {

namespace {

Failure failure_of(const Error& error, FailureKind kind = FailureKind::kError) {
  return {.kind = kind, .error = error.kind(), .message = error.what()};
}

}  // namespace

Failure current_fault(const Sequence& sequence) {
  try {
    throw;
  } catch (const NotFinite& error) {
    const AdapterSet* adapters = sequence.request().adapters.get();
    return failure_of(adapters == nullptr ? Error(error) : broken_by(*adapters));
  } catch (const text::grammar::GrammarLimit& error) {
    return failure_of(error, FailureKind::kGrammarLimit);
  } catch (const Error& error) {
    return failure_of(error);
  } catch (const std::exception& error) {
    return {.message = error.what()};
  }
}

}  // namespace lanner::engine
