// SPDX-License-Identifier: MIT
#pragma once

#include "server/service.h"

/// The functions of the routes. Each answers its call or throws RequestError or Error.
namespace lanner::server {

void chat_completions(const Service::Call& call);
void completions(const Service::Call& call);

void embeddings(const Service::Call& call);

void messages(const Service::Call& call);
void count_tokens(const Service::Call& call);

void responses(const Service::Call& call);
void show_response(const Service::Call& call);
void delete_response(const Service::Call& call);

void tokenize(const Service::Call& call);
void detokenize(const Service::Call& call);
void apply_template(const Service::Call& call);

void save_state(const Service::Call& call);
void load_state(const Service::Call& call);

void list_models(const Service::Call& call);
void show_model(const Service::Call& call);
void show_fit(const Service::Call& call);
void list_requests(const Service::Call& call);
void cancel_request(const Service::Call& call);
void control_request(const Service::Call& call);

}  // namespace lanner::server
