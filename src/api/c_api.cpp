// SPDX-License-Identifier: MIT
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "lanner/lanner.h"
#include "lanner/lanner.hpp"

struct lanner_model {
  lanner::api::Model model;
};

struct lanner_answer {
  lanner::api::Answer answer;
  lanner::api::Token last = {};  ///< whose text the caller may still read
  std::vector<lanner_likely> likeliest = {};
  std::vector<lanner_tool_call> calls = {};
};

namespace lanner::api {
namespace {

/// The last failure on this thread.
struct Failed {
  lanner_status status = LANNER_OK;
  std::string message;
};

Failed& last_failure() {
  thread_local Failed failed;
  return failed;
}

lanner_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return LANNER_INVALID_ARGUMENT;
    case ErrorKind::kNotFound:
      return LANNER_NOT_FOUND;
    case ErrorKind::kIo:
      return LANNER_IO;
    case ErrorKind::kCorrupt:
      return LANNER_CORRUPT;
    case ErrorKind::kUnsupported:
      return LANNER_UNSUPPORTED;
    case ErrorKind::kOutOfMemory:
      return LANNER_OUT_OF_MEMORY;
    case ErrorKind::kBusy:
      return LANNER_BUSY;
    case ErrorKind::kTimeout:
      return LANNER_TIMEOUT;
    case ErrorKind::kInternal:
      return LANNER_INTERNAL;
  }
  return LANNER_INTERNAL;
}

lanner_status fail(lanner_status status, const char* message) noexcept {
  Failed& failed = last_failure();
  failed.status = status;
  try {
    failed.message = message;
  } catch (const std::bad_alloc&) {
    failed.message.clear();
  }
  return status;
}

/// Runs `body`; what it throws becomes a status and the thread's last error.
template <typename Body>
lanner_status reported(Body&& body) noexcept {
  last_failure().status = LANNER_OK;
  last_failure().message.clear();
  try {
    return body();
  } catch (const Error& error) {
    return fail(status_of(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(LANNER_OUT_OF_MEMORY, "memory ran out");
  } catch (const std::exception& error) {
    return fail(LANNER_INTERNAL, error.what());
  }
}

void expect(bool holds, const char* message) {
  if (!holds) throw Error(ErrorKind::kInvalidArgument, message);
}

LoadOptions load_options(const lanner_load_options& given) {
  LoadOptions options{.threads = given.threads, .exact = given.exact != 0};
  expect(given.cuda >= 0, "cuda is negative, expected 0 for the CPU or the number of a GPU from 1");
  if (given.cuda > 0) options.cuda = given.cuda - 1;
  if (given.kv_type != nullptr) options.kv_type = given.kv_type;
  if (given.max_sequences > 0) options.max_sequences = given.max_sequences;
  if (given.cache_bytes > 0) options.cache_bytes = given.cache_bytes;
  return options;
}

Format format_of(lanner_format format) {
  switch (format) {
    case LANNER_FREE:
      return Format::kFree;
    case LANNER_JSON_OBJECT:
      return Format::kJsonObject;
    case LANNER_JSON_SCHEMA:
      return Format::kJsonSchema;
    case LANNER_REGEX:
      return Format::kRegex;
    case LANNER_CHOICE:
      return Format::kChoice;
    case LANNER_GBNF:
      return Format::kGbnf;
    case LANNER_LARK:
      return Format::kLark;
  }
  throw Error(ErrorKind::kInvalidArgument, "format is none of lanner_format");
}

GenerateOptions generate_options(const lanner_generate_options* given) {
  GenerateOptions options;
  if (given == nullptr) return options;
  if (given->temperature >= 0) options.temperature = given->temperature;
  if (given->top_k >= 0) options.top_k = static_cast<std::size_t>(given->top_k);
  if (given->top_p >= 0) options.top_p = given->top_p;
  if (given->min_p >= 0) options.min_p = given->min_p;
  options.seed = given->seed;
  if (given->max_tokens >= 0) options.max_tokens = static_cast<std::size_t>(given->max_tokens);
  if (given->thinking >= 0) options.thinking = given->thinking != 0;
  expect(given->timeout_ms >= 0, "timeout_ms is negative");
  if (given->adapter != nullptr) options.adapter = given->adapter;
  if (given->timeout_ms > 0) options.timeout = std::chrono::milliseconds(given->timeout_ms);
  expect(given->stop_count == 0 || given->stop != nullptr, "stop is NULL, but stop_count is not 0");
  for (std::size_t i = 0; i < given->stop_count; ++i) {
    expect(given->stop[i] != nullptr, "a stop text is NULL");
    options.stop.emplace_back(given->stop[i]);
  }
  options.format = format_of(given->format);
  if (given->format_text != nullptr) options.format_text = given->format_text;
  expect(given->choice_count == 0 || given->choices != nullptr, "choices is NULL, but choice_count is not 0");
  for (std::size_t i = 0; i < given->choice_count; ++i) {
    expect(given->choices[i] != nullptr, "a choice is NULL");
    options.choices.emplace_back(given->choices[i]);
  }
  if (given->tools != nullptr) options.tools = given->tools;
  if (given->tools_required != 0) options.tool_use = ToolUse::kRequired;
  if (given->logprobs >= 0) options.logprobs = static_cast<std::size_t>(given->logprobs);
  return options;
}

std::vector<Message> messages_of(const lanner_message* given, std::size_t count) {
  expect(count == 0 || given != nullptr, "messages is NULL, but count is not 0");
  std::vector<Message> messages;
  for (std::size_t i = 0; i < count; ++i) {
    expect(given[i].role != nullptr && given[i].content != nullptr, "a message has no role or no content");
    Message message{.role = given[i].role, .content = given[i].content};
    expect(given[i].tool_call_count == 0 || given[i].tool_calls != nullptr,
           "a message's tool_calls is NULL, but tool_call_count is not 0");
    for (std::size_t call = 0; call < given[i].tool_call_count; ++call) {
      const lanner_tool_call& it = given[i].tool_calls[call];
      expect(it.name != nullptr && it.arguments != nullptr, "a tool call has no name or no arguments");
      message.tool_calls.push_back({it.name, it.arguments});
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

lanner_part part_of(Part part) {
  switch (part) {
    case Part::kReasoning:
      return LANNER_REASONING;
    case Part::kContent:
      return LANNER_CONTENT;
    case Part::kToolCall:
      return LANNER_TOOL_CALL;
  }
  return LANNER_CONTENT;
}

lanner_finish finish_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return LANNER_STOP;
    case FinishReason::kLength:
      return LANNER_LENGTH;
    case FinishReason::kCancelled:
      return LANNER_CANCELLED;
  }
  return LANNER_STOP;
}

lanner_status next_token(lanner_answer* answer, lanner_token* token) {
  expect(answer != nullptr && token != nullptr, "answer or token is NULL");
  std::optional<Token> next = answer->answer.next();
  if (!next) return LANNER_END;
  answer->last = std::move(*next);
  answer->likeliest.clear();
  for (const Likely& likely : answer->last.likeliest)
    answer->likeliest.push_back({likely.id, likely.logprob});
  *token = {.id = answer->last.id,
            .part = part_of(answer->last.part),
            .text = answer->last.text.c_str(),
            .text_size = answer->last.text.size(),
            .has_logprob = answer->last.logprob ? 1 : 0,
            .logprob = answer->last.logprob.value_or(0.0F),
            .likeliest = answer->likeliest.data(),
            .likeliest_count = answer->likeliest.size()};
  return LANNER_OK;
}

}  // namespace
}  // namespace lanner::api

extern "C" {

const char* lanner_version(void) { return lanner::api::version().data(); }
const char* lanner_last_error(void) { return lanner::api::last_failure().message.c_str(); }
lanner_status lanner_last_status(void) { return lanner::api::last_failure().status; }

lanner_model* lanner_load(const char* folder, const lanner_load_options* options) {
  lanner_model* model = nullptr;
  lanner::api::reported([&] {
    lanner::api::expect(folder != nullptr, "folder is NULL");
    model = new lanner_model{lanner::api::Model(
        folder, options == nullptr ? lanner::api::LoadOptions{} : lanner::api::load_options(*options))};
    return LANNER_OK;
  });
  return model;
}

void lanner_free(lanner_model* model) { delete model; }

size_t lanner_context(const lanner_model* model) { return model == nullptr ? 0 : model->model.context(); }

lanner_stats lanner_get_stats(const lanner_model* model) {
  if (model == nullptr) return {};
  const lanner::api::Stats stats = model->model.stats();
  return {.running = stats.running,
          .queued = stats.queued,
          .cache_bytes = stats.cache_bytes,
          .cache_total_bytes = stats.cache_total_bytes,
          .prompt_tokens = stats.prompt_tokens,
          .cached_tokens = stats.cached_tokens,
          .generated_tokens = stats.generated_tokens};
}

lanner_status lanner_mount_adapter(lanner_model* model, const char* id, const char* folder, float scale) {
  return lanner::api::reported([&] {
    lanner::api::expect(model != nullptr && id != nullptr && folder != nullptr,
                        "model, id or folder is NULL");
    model->model.mount_adapter(id, folder, scale);
    return LANNER_OK;
  });
}

lanner_status lanner_unmount_adapter(lanner_model* model, const char* id) {
  return lanner::api::reported([&] {
    lanner::api::expect(model != nullptr && id != nullptr, "model or id is NULL");
    if (!model->model.unmount_adapter(id))
      throw lanner::api::Error(lanner::api::ErrorKind::kNotFound, "there is no adapter of this id");
    return LANNER_OK;
  });
}

lanner_generate_options lanner_generate_defaults(void) {
  return {.temperature = -1,
          .top_k = -1,
          .top_p = -1,
          .min_p = -1,
          .seed = 0,
          .max_tokens = -1,
          .thinking = -1,
          .timeout_ms = 0,
          .stop = nullptr,
          .stop_count = 0,
          .format = LANNER_FREE,
          .format_text = nullptr,
          .choices = nullptr,
          .choice_count = 0,
          .tools = nullptr,
          .tools_required = 0,
          .logprobs = -1,
          .adapter = nullptr};
}

lanner_answer* lanner_chat(lanner_model* model, const lanner_message* messages, size_t count,
                           const lanner_generate_options* options) {
  lanner_answer* answer = nullptr;
  lanner::api::reported([&] {
    lanner::api::expect(model != nullptr, "model is NULL");
    answer = new lanner_answer{
        model->model.chat(lanner::api::messages_of(messages, count), lanner::api::generate_options(options))};
    return LANNER_OK;
  });
  return answer;
}

lanner_answer* lanner_complete(lanner_model* model, const char* text,
                               const lanner_generate_options* options) {
  lanner_answer* answer = nullptr;
  lanner::api::reported([&] {
    lanner::api::expect(model != nullptr && text != nullptr, "model or text is NULL");
    answer = new lanner_answer{model->model.complete(text, lanner::api::generate_options(options))};
    return LANNER_OK;
  });
  return answer;
}

lanner_status lanner_next(lanner_answer* answer, lanner_token* token) {
  return lanner::api::reported([&] { return lanner::api::next_token(answer, token); });
}

lanner_status lanner_read(lanner_answer* answer, lanner_token_callback callback, void* user) {
  return lanner::api::reported([&] {
    lanner::api::expect(callback != nullptr, "callback is NULL");
    lanner_token token;
    while (lanner::api::next_token(answer, &token) == LANNER_OK)
      if (callback(&token, user) != 0) answer->answer.cancel();
    return LANNER_OK;
  });
}

lanner_status lanner_get_result(lanner_answer* answer, lanner_result* result) {
  return lanner::api::reported([&] {
    lanner::api::expect(answer != nullptr && result != nullptr, "answer or result is NULL");
    const lanner::api::Result& whole = answer->answer.result();
    answer->calls.clear();
    for (const lanner::api::ToolCall& call : whole.tool_calls)
      answer->calls.push_back({call.name.c_str(), call.arguments.c_str()});
    *result = {.finish = lanner::api::finish_of(whole.finish_reason),
               .prompt_tokens = whole.prompt_tokens,
               .cached_tokens = whole.cached_tokens,
               .generated_tokens = whole.generated_tokens,
               .prompt_seconds = whole.prompt_seconds,
               .decode_seconds = whole.decode_seconds,
               .tool_calls = answer->calls.data(),
               .tool_call_count = answer->calls.size()};
    return LANNER_OK;
  });
}

void lanner_cancel(lanner_answer* answer) {
  if (answer != nullptr) answer->answer.cancel();
}

void lanner_answer_free(lanner_answer* answer) { delete answer; }

}  // extern "C"
