// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"
#include "server/http_message.h"

namespace lanner::server {

/// Why a request is not served, as its client is told.
struct Problem {
  int status = 400;
  std::string type = "invalid_request_error";
  std::string code = {};
  std::string message = {};
  std::string param = {};    ///< the field at fault; empty = none
  double retry_seconds = 0;  ///< > 0: when to try again
  Headers headers = {};      ///< more that the response says
};

/// Thrown while a request is read, caught where it is answered.
class RequestError : public Error {
 public:
  explicit RequestError(Problem problem)
      : Error(ErrorKind::kInvalidArgument, problem.message), problem_(std::move(problem)) {}
  const Problem& problem() const { return problem_; }

 private:
  Problem problem_;
};

/// A field that cannot be served: 400 with this code.
[[noreturn]] void refuse_field(std::string_view param, std::string_view code, std::string message);

Problem not_found(std::string_view code, std::string message);
/// A fault of the server: 500, telling the request's id and no detail.
Problem internal_problem(std::string_view request_id);
Problem draining_problem();
Problem device_lost_problem(std::string message);
Problem loading_problem();
/// The label of request_rejected_total; null: it is not counted.
const char* rejection_reason(const Problem& problem);
/// What an Error thrown while a request was prepared means to its client.
Problem problem_of(const Error& error, std::string_view request_id);

}  // namespace lanner::server
