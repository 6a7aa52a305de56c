// SPDX-License-Identifier: MIT
#include "core/cpu_features.h"

#include <doctest/doctest.h>

using namespace lanner;

TEST_CASE("isa: names parse back and unknown names do not") {
  for (Isa isa : {Isa::kReference, Isa::kAvx2, Isa::kAvx512, Isa::kNeon}) CHECK(parse_isa(name(isa)) == isa);
  CHECK_FALSE(parse_isa("AVX2"));
  CHECK_FALSE(parse_isa(""));
}

TEST_CASE("isa: the supported list begins with the reference and ends with the detected one") {
  const auto isas = supported_isas();
  REQUIRE_FALSE(isas.empty());
  CHECK(isas.front() == Isa::kReference);
  CHECK(isas.back() == detect_isa());
  for (Isa isa : isas) CHECK(cpu_supports(isa));
#if defined(__x86_64__)
  CHECK_FALSE(cpu_supports(Isa::kNeon));
#endif
}
