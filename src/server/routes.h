// SPDX-License-Identifier: MIT
#pragma once

#include "server/service.h"

/// The functions of the routes. Each answers its call or throws RequestError or Error. Those that return a
/// Reply run on a thread of the preparation, or on the one that mounts adapters.
namespace lanner::server {

Reply chat_completions(const Service::Call& call, const Json& body);
Reply completions(const Service::Call& call, const Json& body);

Reply embeddings(const Service::Call& call, const Json& body);

Reply messages(const Service::Call& call, const Json& body);
Reply count_tokens(const Service::Call& call, const Json& body);

Reply responses(const Service::Call& call, const Json& body);
void show_response(const Service::Call& call);
void delete_response(const Service::Call& call);

Reply tokenize(const Service::Call& call, const Json& body);
Reply detokenize(const Service::Call& call, const Json& body);
Reply apply_template(const Service::Call& call, const Json& body);

void save_state(const Service::Call& call);
void load_state(const Service::Call& call);

/// Throws RequestError 403 for a client without an administrator's key, where the server has such keys.
void require_admin(const Service::Call& call);
void list_adapters(const Service::Call& call);
void list_available_adapters(const Service::Call& call);
Reply mount_adapter(const Service::Call& call);
void change_adapter(const Service::Call& call);
void unmount_adapter(const Service::Call& call);
Reply load_lora_adapter(const Service::Call& call);
void unload_lora_adapter(const Service::Call& call);

void list_models(const Service::Call& call);
void show_model(const Service::Call& call);
void show_fit(const Service::Call& call);
void list_requests(const Service::Call& call);
void cancel_request(const Service::Call& call);
void control_request(const Service::Call& call);

}  // namespace lanner::server
