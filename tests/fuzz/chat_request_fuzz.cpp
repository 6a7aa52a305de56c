// SPDX-License-Identifier: MIT
// Bodies of requests: read as every kind of request, none may fail but by RequestError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/embedding_request.h"
#include "server/messages_request.h"
#include "server/problem.h"
#include "server/responses_request.h"

namespace {

using namespace lanner::server;

const RequestRules kFuzzRules{.model = "tale",
                              .vocabulary = 1000,
                              .context = 4096,
                              .hidden_size = 64,
                              .pooling = lanner::engine::Pooling::kLast};

template <typename Read>
void expect_request_error(Read read) {
  try {
    read();
  } catch (const RequestError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  expect_request_error([&] {
    const Json body = parse_body({reinterpret_cast<const char*>(data), size});
    expect_request_error([&] { read_chat_request(body, kFuzzRules); });
    expect_request_error([&] { read_completion_request(body, kFuzzRules); });
    expect_request_error([&] { read_embedding_request(body, kFuzzRules); });
    expect_request_error([&] { read_messages_request(body, kFuzzRules, MessagesUse::kAnswer); });
    expect_request_error([&] { read_responses_request(body, kFuzzRules, Json::array()); });
  });
  return 0;
}
