// SPDX-License-Identifier: MIT
// Any bytes as config.json: every field is read as every type; each attempt gives a value or an Error of one
// line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/fields.h"

namespace {

using lanner::io::Fields;

template <typename Read>
void attempt(Read read) {
  try {
    read();
  } catch (const lanner::Error& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.find('\n') != message.npos) std::abort();
  }
}

void read_every_field(const Fields& fields) {
  for (const std::string& key : fields.keys()) {
    attempt([&] { fields.required_int(key, lanner::io::kPositive); });
    attempt([&] { fields.optional_int(key, 1); });
    attempt([&] { fields.required_number(key, lanner::io::kAboveZero); });
    attempt([&] { fields.required_bool(key); });
    attempt([&] { fields.required_string(key); });
    attempt([&] { fields.find_int_or_ints(key, {0, 100}); });
    attempt([&] { fields.required_numbers(key); });
    attempt([&] { fields.required_strings(key); });
    attempt([&] { read_every_field(fields.required_object(key)); });
    attempt([&] {
      for (const Fields& element : fields.required_objects(key)) read_every_field(element);
    });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attempt([&] {
    const lanner::io::Json json =
        lanner::io::parse_json({reinterpret_cast<const char*>(data), size}, "config.json");
    read_every_field(Fields(json, "config.json"));
  });
  return 0;
}
