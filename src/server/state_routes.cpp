// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "io/message_text.h"
#include "server/adapter_fields.h"
#include "server/error_response.h"
#include "server/json_fields.h"
#include "server/problem.h"
#include "server/prompt_session.h"
#include "server/routes.h"

namespace lanner::server {
namespace {

void require_state_folder(const Service::Call& call) {
  if (!call.states)
    throw RequestError({.status = 501,
                        .code = "not_supported",
                        .message = "this server keeps no states, start it with --state-dir FOLDER"});
}

std::string state_name(const JsonFields& fields) {
  std::string name = fields.require_string("name");
  if (!StateFolder::is_name(name))
    refuse_field(
        "name", "invalid_value",
        fmt::format("name is {}, expected 1 to 128 of A-Z a-z 0-9 . _ - that do not begin with a dot",
                    io::in_quotes(name)));
  return name;
}

std::vector<TokenId> state_tokens(const Service::Call& call, const JsonFields& fields) {
  auto tokens = fields.token_ids("tokens", call.served->rules.vocabulary);
  const auto request = fields.string("request_id");
  if (tokens.has_value() == request.has_value())
    refuse_field(tokens ? "tokens" : "request_id", tokens ? "invalid_value" : "missing_field",
                 "expected either tokens or request_id");
  if (request) {
    tokens = call.live->tokens(*request);
    if (!tokens)
      throw RequestError(
          not_found("not_found", "no request " + io::in_quotes(*request) + " runs or has ended lately"));
  }
  if (tokens->empty()) refuse_field("tokens", "invalid_value", "tokens is empty");
  return std::move(*tokens);
}

/// What the system said about a file, without the folder, which clients need not know.
std::string file_message(std::string text, const std::filesystem::path& file) {
  const std::string folder = io::printable(file.parent_path().native()) + '/';
  if (text.starts_with(folder)) text.erase(0, folder.size());
  return text;
}

/// What a state file that cannot be used means to its client.
Problem state_problem(const Error& error, const std::filesystem::path& file, const std::string& request_id) {
  constexpr double kDiskSeconds = 30;
  switch (error.kind()) {
    case ErrorKind::kNotFound:
      if (std::error_code ignored; std::filesystem::exists(file.parent_path(), ignored))
        return not_found("not_found", "there is no state " + io::in_quotes(file.stem().native()));
      [[fallthrough]];
    case ErrorKind::kIo:
      return {.status = 503,
              .type = "unavailable_error",
              .code = "storage_failed",
              .message = file_message(error.what(), file),
              .param = "name",
              .retry_seconds = kDiskSeconds};
    case ErrorKind::kInvalidArgument:
    case ErrorKind::kCorrupt:
      return {.status = 409, .code = "state_mismatch", .message = error.what(), .param = "name"};
    case ErrorKind::kOutOfMemory:
      return {.type = "memory_admission",
              .code = "context_over_budget",
              .message = error.what(),
              .param = "name"};
    default:
      return internal_problem(request_id);
  }
}

/// Runs `work` on the folder's thread and sends what it returns.
void respond_later(const Service::Call& call, const std::filesystem::path& file, std::function<Json()> work) {
  call.states->queue(
      [exchange = call.exchange, log = call.log, id = call.request().id, file, work = std::move(work)] {
        HttpResponse response;
        try {
          response.body = write_json(work());
        } catch (const Error& error) {
          const Problem problem = state_problem(error, file, id);
          if (problem.status >= 500) log->say(fmt::format("{}: {}", id, error.what()));
          response = error_response(problem, ErrorStyle::kOpenAi, id);
        } catch (const std::exception& error) {
          log->say(fmt::format("{}: {}", id, error.what()));
          response = error_response(internal_problem(id), ErrorStyle::kOpenAi, id);
        }
        exchange->post([exchange, response = std::move(response)] { exchange->respond(response); });
      });
}

}  // namespace

void save_state(const Service::Call& call) {
  require_state_folder(call);
  require_admin(call);
  const Json body = parse_body(call.request().body);
  const JsonFields fields(body);
  const std::string name = state_name(fields);
  engine::Request request;
  request.prompt = state_tokens(call, fields);
  request.wants_state = true;
  request.prefix.write = false;
  if (call.served->rules.unknown_fields == UnknownFields::kRefused) fields.refuse_unknown();
  read_adapters(fields, call.served->rules, std::nullopt, request);
  std::vector<engine::Request> requests;
  requests.push_back(std::move(request));
  PromptSession::start(
      {call.exchange, call.served, call.metrics, call.live},
      {.requests = std::move(requests),
       .field = "tokens",
       .complete = [call, name](PromptSession::Results results) {
         const auto image = std::get<engine::PromptState>(*results.front()).image;
         const std::filesystem::path file = call.states->file(name);
         respond_later(call, file, [file, name, image] {
           engine::write_state(file, *image);
           return Json{{"name", name}, {"tokens", image->tokens}, {"bytes", image->size_bytes()}};
         });
       }});
}

void load_state(const Service::Call& call) {
  require_state_folder(call);
  require_admin(call);
  const Json body = parse_body(call.request().body);
  const JsonFields fields(body);
  const std::string name = state_name(fields);
  engine::Request request;
  read_adapters(fields, call.served->rules, std::nullopt, request);
  if (call.served->rules.unknown_fields == UnknownFields::kRefused) fields.refuse_unknown();
  const std::filesystem::path file = call.states->file(name);
  respond_later(call, file, [served = call.served, file, name, adapters = request.adapters] {
    return Json{{"name", name}, {"tokens", served->engine->restore_state(file, adapters.get())}};
  });
}

}  // namespace lanner::server
