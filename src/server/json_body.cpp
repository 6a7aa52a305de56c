// SPDX-License-Identifier: MIT
#include "server/json_body.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/json.h"
#include "io/json_syntax.h"
#include "server/problem.h"

namespace lanner::server {
namespace {

/// Comparisons of keys a body may cost: each key is compared with those before it in its object.
constexpr std::uint64_t kMostComparisons = 200'000'000;

[[noreturn]] void refuse_body(std::string message) {
  throw RequestError({.code = "invalid_json", .message = "the body " + std::move(message)});
}

/// Watches a body being parsed, so that hostile ones end early.
class BodyWatch {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json&) {
    if (depth >= io::kMaxJsonDepth) refuse_body("nests too deeply");
    if (event == Json::parse_event_t::object_start) {
      keys_.resize(static_cast<std::size_t>(depth) + 1);
      keys_.back() = 0;
    } else if (event == Json::parse_event_t::key && !keys_.empty()) {
      const auto level = static_cast<std::size_t>(depth - 1);
      if (level < keys_.size()) comparisons_ += keys_[level]++;
      if (comparisons_ > kMostComparisons) refuse_body("has too many keys");
    }
    return true;
  }

 private:
  std::vector<std::uint64_t> keys_;  ///< of the open object at each depth
  std::uint64_t comparisons_ = 0;
};

}  // namespace

Json parse_body(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) refuse_body("is empty, expected JSON");
  BodyWatch watch;
  Json json;
  try {
    json = Json::parse(body.begin(), body.end(), std::ref(watch));
  } catch (const Json::parse_error& error) {
    const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    refuse_body("is not JSON: " + io::text_position(body, std::min(offset, body.size())) + ": " +
                io::syntax_complaint(error.what()));
  } catch (const Json::exception& error) {
    refuse_body("is not JSON: " + io::syntax_complaint(error.what()));
  }
  if (!json.is_object()) refuse_body("is a JSON " + std::string(json.type_name()) + ", expected an object");
  return json;
}

std::string write_json(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace lanner::server
