// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "io/message_text.h"
#include "server/json_fields.h"
#include "server/problem.h"
#include "server/routes.h"

namespace lanner::server {
namespace {

namespace fs = std::filesystem;

Json adapter_json(const engine::MountedAdapter& mounted) {
  const models::Adapter& adapter = *mounted.adapter;
  return {{"id", mounted.id},
          {"object", "adapter"},
          {"path", mounted.folder.string()},
          {"rank", adapter.rank},
          {"scale", mounted.scale},
          {"size_bytes", adapter.size_bytes},
          {"mounted_layers", adapter.layers},
          {"targets", adapter.targets},
          {"content_hash", adapter.content_hash},
          {"in_use", mounted.in_use},
          {"remarks", adapter.remarks}};
}

/// The names of an adapter's fields in one of the two ways to spell the routes.
struct Spelling {
  const char* id;
  const char* path;
};
constexpr Spelling kOwn = {"id", "path"};
constexpr Spelling kVllm = {"lora_name", "lora_path"};

std::string adapter_id(const JsonFields& fields, const char* name) {
  std::string id = fields.require_string(name);
  if (!engine::is_adapter_id(id))
    refuse_field(fields.path(name), "invalid_value",
                 fmt::format("{} is {}, expected 1 to 128 of A-Z a-z 0-9 . _ - that do not begin with a dot, "
                             "and not none",
                             name, io::in_quotes(id)));
  return id;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

/// Where the adapter is: relative paths are in the server's folder of adapters. Only administrators may name
/// other places.
fs::path adapter_folder(const Service::Call& call, const JsonFields& fields, const char* name) {
  const std::string text = fields.require_string(name);
  if (text.empty() || text.find('\0') != std::string::npos)
    refuse_field(fields.path(name), "invalid_value", fmt::format("{} is no path", name));
  std::error_code ignored;
  const fs::path base =
      call.adapter_folder ? fs::weakly_canonical(*call.adapter_folder, ignored) : fs::path();
  fs::path path = fs::weakly_canonical(base / text, ignored);
  if (!call.is_admin && (!call.adapter_folder || !is_inside(path, base)))
    throw RequestError({.status = 403,
                        .type = "permission_error",
                        .code = "admin_required",
                        .message =
                            "without an administrator's key (--admin-key) only folders in the server's "
                            "--adapter-dir can be mounted",
                        .param = fields.path(name)});
  return path;
}

Problem unknown_adapter(const std::string& id) {
  return not_found("adapter_not_found", "there is no adapter " + io::in_quotes(id));
}

/// What an adapter that cannot be mounted means to its client.
Problem mount_problem(const Error& error, const char* param) {
  if (error.kind() == ErrorKind::kOutOfMemory)
    return {
        .type = "memory_admission", .code = "adapter_over_budget", .message = error.what(), .param = param};
  return {.code = "adapter_invalid", .message = error.what(), .param = param};
}

void refuse_unknown_fields(const Service::Call& call, const JsonFields& fields) {
  if (call.served->rules.unknown_fields == UnknownFields::kRefused) fields.refuse_unknown();
}

std::optional<float> scale_of(const JsonFields& fields) {
  const auto scale = fields.number("scale", {-engine::kMostStrength, engine::kMostStrength});
  return scale ? std::optional(static_cast<float>(*scale)) : std::nullopt;
}

Reply mount(const Service::Call& call, const Spelling& spelling) {
  require_admin(call);
  const Json body = parse_body(call.request().body);
  const JsonFields fields(body);
  const std::string id = adapter_id(fields, spelling.id);
  const fs::path folder = adapter_folder(call, fields, spelling.path);
  const float scale = scale_of(fields).value_or(1);
  refuse_unknown_fields(call, fields);
  engine::Engine& engine = *call.served->engine;
  engine::MountResult result = engine::MountResult::kMounted;
  try {
    result = engine.mount_adapter(id, folder, scale);
  } catch (const Error& error) {
    throw RequestError(mount_problem(error, spelling.path));
  }
  if (result == engine::MountResult::kConflict)
    throw RequestError({.status = 409,
                        .code = "adapter_exists",
                        .message = fmt::format("{} is another adapter or has another scale; unmount it first",
                                               io::in_quotes(id)),
                        .param = spelling.id});
  const auto mounted = engine.adapters().find(id);
  if (!mounted) throw RequestError(unknown_adapter(id));  // somebody was faster
  return [exchange = call.exchange, status = result == engine::MountResult::kMounted ? 201 : 200,
          text = write_json(adapter_json(*mounted))] { exchange->respond({.status = status, .body = text}); };
}

Json unmounted_json(const std::string& id) {
  return {{"id", id}, {"object", "adapter"}, {"unmounted", true}};
}

void unmount(const Service::Call& call, const std::string& id) {
  const auto result = call.served->engine->unmount_adapter(id, engine::UnmountRule::kRefuse);
  if (result == engine::UnmountResult::kUnknown) throw RequestError(unknown_adapter(id));
  if (result == engine::UnmountResult::kInUse)
    throw RequestError({.status = 409,
                        .code = "adapter_in_use",
                        .message = io::in_quotes(id) + " is in use; try again later, or wait with ?wait=1"});
  call.respond(unmounted_json(id));
}

bool asks_to_wait(std::string_view query) {
  return ("&" + std::string(query) + "&").find("&wait=1&") != std::string::npos;
}

}  // namespace

void require_admin(const Service::Call& call) {
  if (call.is_admin || !call.has_admins) return;
  throw RequestError({.status = 403,
                      .type = "permission_error",
                      .code = "admin_required",
                      .message = "this needs an administrator's key (--admin-key)"});
}

void list_adapters(const Service::Call& call) {
  Json adapters = Json::array();
  for (const engine::MountedAdapter& mounted : call.served->engine->adapters().list())
    adapters.push_back(adapter_json(mounted));
  call.respond({{"object", "list"}, {"adapters", std::move(adapters)}});
}

void list_available_adapters(const Service::Call& call) {
  Json adapters = Json::array();
  std::vector<fs::path> folders;
  std::error_code error;
  if (call.adapter_folder)
    for (const auto& entry : fs::directory_iterator(*call.adapter_folder, error))
      if (fs::exists(entry.path() / "adapter_config.json", error)) folders.push_back(entry.path());
  std::ranges::sort(folders);
  const std::vector<engine::MountedAdapter> mounted = call.served->engine->adapters().list();
  for (const fs::path& folder : folders) {
    Json ids = Json::array();
    for (const engine::MountedAdapter& adapter : mounted)
      if (fs::equivalent(adapter.folder, folder, error)) ids.push_back(adapter.id);
    adapters.push_back({{"path", folder.filename().string()}, {"mounted_as", std::move(ids)}});
  }
  call.respond({{"object", "list"}, {"adapters", std::move(adapters)}});
}

Reply mount_adapter(const Service::Call& call) { return mount(call, kOwn); }
Reply load_lora_adapter(const Service::Call& call) { return mount(call, kVllm); }

void change_adapter(const Service::Call& call) {
  require_admin(call);
  const Json body = parse_body(call.request().body);
  const JsonFields fields(body);
  fields.require("scale");
  const float scale = *scale_of(fields);
  refuse_unknown_fields(call, fields);
  engine::AdapterRegistry& adapters = call.served->engine->adapters();
  if (!adapters.set_scale(call.tail, scale)) throw RequestError(unknown_adapter(call.tail));
  const auto mounted = adapters.find(call.tail);
  if (!mounted) throw RequestError(unknown_adapter(call.tail));
  call.respond(adapter_json(*mounted));
}

void unmount_adapter(const Service::Call& call) {
  require_admin(call);
  if (!asks_to_wait(call.request().query)) return unmount(call, call.tail);
  const auto released = [exchange = call.exchange, id = call.tail] {
    exchange->post([exchange, id] { exchange->respond({.body = write_json(unmounted_json(id))}); });
  };
  const auto result = call.served->engine->unmount_adapter(call.tail, engine::UnmountRule::kLetEnd, released);
  if (result == engine::UnmountResult::kUnknown) throw RequestError(unknown_adapter(call.tail));
}

void unload_lora_adapter(const Service::Call& call) {
  require_admin(call);
  const Json body = parse_body(call.request().body);
  const JsonFields fields(body);
  const std::string id = adapter_id(fields, kVllm.id);
  refuse_unknown_fields(call, fields);
  unmount(call, id);
}

}  // namespace lanner::server
