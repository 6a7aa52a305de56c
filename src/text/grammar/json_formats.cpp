// SPDX-License-Identifier: MIT
#include "text/grammar/json_formats.h"

#include <utility>

namespace lanner::text::grammar {

namespace {

// Dates of RFC 3339; the days that a month can have, 29 February only in leap years.
#define LANNER_FULL_DATE                                                                               \
  "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)" \
  "|02-(?:0[1-9]|1[0-9]|2[0-8]))"                                                                      \
  "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
#define LANNER_FULL_TIME \
  "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
#define LANNER_LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define LANNER_HOST LANNER_LABEL "(?:\\." LANNER_LABEL "){0,3}"
#define LANNER_OCTET "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define LANNER_H16 "[0-9A-Fa-f]{1,4}"

constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
    {"date-time", LANNER_FULL_DATE "T" LANNER_FULL_TIME},
    {"date", LANNER_FULL_DATE},
    {"time", LANNER_FULL_TIME},
    // Source: RFC 3339, appendix A.
    {"duration",
     "P(?:[0-9]{1,9}W|(?:[0-9]{1,9}Y(?:[0-9]{1,9}M(?:[0-9]{1,9}D)?)?|[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}D)"
     "(?:T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))?"
     "|T(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S))"},
    {"email",
     "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,32}(?:\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,15}){0,2}@" LANNER_HOST},
    {"hostname", LANNER_HOST},
    {"ipv4", LANNER_OCTET "(?:\\." LANNER_OCTET "){3}"},
    {"ipv6",
     "(?:(?:" LANNER_H16 ":){7}" LANNER_H16 "|(?:" LANNER_H16 ":){1,7}:|(?:" LANNER_H16 ":){1,6}:" LANNER_H16
     "|(?:" LANNER_H16 ":){1,5}(?::" LANNER_H16 "){1,2}|(?:" LANNER_H16 ":){1,4}(?::" LANNER_H16
     "){1,3}|(?:" LANNER_H16 ":){1,3}(?::" LANNER_H16 "){1,4}|(?:" LANNER_H16 ":){1,2}(?::" LANNER_H16
     "){1,5}|" LANNER_H16 ":(?::" LANNER_H16 "){1,6}|:(?:(?::" LANNER_H16 "){1,7}|:))"},
    {"uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"},
    {"uri", "[A-Za-z][A-Za-z0-9+.-]{0,15}://" LANNER_HOST
            "(?::[0-9]{1,5})?(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)*"
            "(?:\\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
            "(?:#(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"},
};

#undef LANNER_FULL_DATE
#undef LANNER_FULL_TIME
#undef LANNER_LABEL
#undef LANNER_HOST
#undef LANNER_OCTET
#undef LANNER_H16

}  // namespace

std::optional<std::string_view> format_expression(std::string_view format) {
  for (const auto& [name, expression] : kFormats)
    if (name == format) return expression;
  return std::nullopt;
}

}  // namespace lanner::text::grammar
