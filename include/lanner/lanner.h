/* SPDX-License-Identifier: MIT */
#ifndef LANNER_LANNER_H
#define LANNER_LANNER_H

/* NOLINTBEGIN(modernize-*,readability-identifier-naming): this is C. */

#include <stddef.h>
#include <stdint.h>

/* lanner for C and other languages; docs/embedding.md. Strings are UTF-8. Functions that can fail return NULL
 * or a negative lanner_status; lanner_last_error() then tells why. No function throws. */

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lanner_status {
  LANNER_OK = 0,
  LANNER_END = 1, /* lanner_next(): there are no more tokens */
  LANNER_INVALID_ARGUMENT = -1,
  LANNER_NOT_FOUND = -2,
  LANNER_IO = -3,
  LANNER_CORRUPT = -4,
  LANNER_UNSUPPORTED = -5,
  LANNER_OUT_OF_MEMORY = -6,
  LANNER_BUSY = -7,
  LANNER_TIMEOUT = -8,
  LANNER_INTERNAL = -9
} lanner_status;

typedef enum lanner_part { LANNER_REASONING, LANNER_CONTENT, LANNER_TOOL_CALL } lanner_part;
/* What an answer's content must be; format_text or choices say more. */
typedef enum lanner_format {
  LANNER_FREE,
  LANNER_JSON_OBJECT,
  LANNER_JSON_SCHEMA, /* JSON by the schema format_text */
  LANNER_REGEX,       /* text that the expression format_text matches as a whole */
  LANNER_CHOICE,      /* one of choices */
  LANNER_GBNF,        /* text by the grammar format_text, in llama.cpp's notation */
  LANNER_LARK         /* the same in Lark's notation */
} lanner_format;
typedef enum lanner_finish { LANNER_STOP, LANNER_LENGTH, LANNER_CANCELLED } lanner_finish;

/* A loaded model; used from any thread. */
typedef struct lanner_model lanner_model;
/* An answer on its way; used from one thread at a time, lanner_cancel() from any. */
typedef struct lanner_answer lanner_answer;

/* Zero is the default of every field. */
typedef struct lanner_load_options {
  int threads;          /* 0 = the cores this process may use */
  int cuda;             /* number of an NVIDIA GPU, from 1; 0 = the CPU */
  int exact;            /* not 0 = float32 arithmetic in place of int8 activations */
  const char* kv_type;  /* "bf16", "f32", "q8", "q6", "q4"; NULL = as the folder says */
  size_t max_sequences; /* answered at once; 0 = 8 */
  size_t cache_bytes;   /* for all sequences; 0 = what the machine has left */
} lanner_load_options;

/* What lanner_generate_defaults() gives comes from the checkpoint. */
typedef struct lanner_generate_options {
  float temperature;       /* 0 = always the likeliest token; below 0 = the checkpoint's */
  int top_k;               /* 0 = off; below 0 = the checkpoint's */
  float top_p;             /* 1 = off; below 0 = the checkpoint's */
  float min_p;             /* 0 = off; below 0 = the checkpoint's */
  uint64_t seed;           /* the same seed gives the same answer */
  int64_t max_tokens;      /* below 0 = what context and memory hold */
  int thinking;            /* 1, 0; below 0 = as the chat template does */
  int64_t timeout_ms;      /* 0 = none */
  const char* const* stop; /* texts that end the answer, stop_count of them */
  size_t stop_count;
  lanner_format format;
  const char* format_text;
  const char* const* choices; /* choice_count of them */
  size_t choice_count;
  const char* tools;  /* JSON text: tools in the form of OpenAI's requests; NULL = none; lanner_chat() only */
  int tools_required; /* not 0 = the answer consists of calls */
  int logprobs;       /* how many of the likeliest tokens to list, 0 to 20; below 0 = no log-probabilities */
  const char* adapter; /* mounted ones: "a", "a@0.5+b"; NULL = none */
} lanner_generate_options;

typedef struct lanner_tool_call {
  const char* name;
  const char* arguments; /* JSON text of an object */
} lanner_tool_call;

typedef struct lanner_message {
  const char* role; /* "system", "user", "assistant", "tool" */
  const char* content;
  const lanner_tool_call* tool_calls; /* of an assistant's message, tool_call_count of them */
  size_t tool_call_count;
} lanner_message;

typedef struct lanner_likely {
  int32_t id;
  float logprob;
} lanner_likely;

/* One token, and the text that it makes certain (perhaps none). What pointers lead to lives until the next
 * call with the same answer. */
typedef struct lanner_token {
  int32_t id;
  lanner_part part;
  const char* text;
  size_t text_size;
  int has_logprob; /* not 0 when log-probabilities were asked for and the text comes with a token */
  float logprob;   /* natural logarithm, before temperature, truncation and format */
  const lanner_likely* likeliest; /* likeliest first, likeliest_count of them */
  size_t likeliest_count;
} lanner_token;

typedef struct lanner_result {
  lanner_finish finish;
  size_t prompt_tokens;
  size_t cached_tokens; /* of them: known from earlier requests */
  size_t generated_tokens;
  double prompt_seconds;
  double decode_seconds;
  const lanner_tool_call* tool_calls; /* complete ones; they live as long as the answer */
  size_t tool_call_count;
} lanner_result;

typedef struct lanner_stats {
  size_t running;
  size_t queued;
  size_t cache_bytes;
  size_t cache_total_bytes;
  uint64_t prompt_tokens;
  uint64_t cached_tokens;
  uint64_t generated_tokens;
} lanner_stats;

/* Called with each token; not 0 cancels the answer. */
typedef int (*lanner_token_callback)(const lanner_token* token, void* user);

const char* lanner_version(void);
/* Why the last call on this thread failed; "" when none did. Lives until the next call on this thread. */
const char* lanner_last_error(void);
/* The status of that failure, LANNER_OK when there is none. */
lanner_status lanner_last_status(void);

/* options may be NULL. */
lanner_model* lanner_load(const char* folder, const lanner_load_options* options);
/* Cancels what is unfinished. Free its answers first. NULL is allowed. */
void lanner_free(lanner_model* model);
size_t lanner_context(const lanner_model* model);
lanner_stats lanner_get_stats(const lanner_model* model);

/* Makes a LoRA adapter's folder available to requests under an id; scale multiplies its own, 1 = as it was
 * trained. LANNER_OK or a failure. */
lanner_status lanner_mount_adapter(lanner_model* model, const char* id, const char* folder, float scale);
/* Requests that use it keep it to their end. LANNER_OK, LANNER_NOT_FOUND or another failure. */
lanner_status lanner_unmount_adapter(lanner_model* model, const char* id);

lanner_generate_options lanner_generate_defaults(void);
/* Start an answer: the next message of a conversation, or what goes on with a text. options may be NULL. */
lanner_answer* lanner_chat(lanner_model* model, const lanner_message* messages, size_t count,
                           const lanner_generate_options* options);
lanner_answer* lanner_complete(lanner_model* model, const char* text, const lanner_generate_options* options);
/* Waits for the next token. LANNER_OK, LANNER_END, or a failure. */
lanner_status lanner_next(lanner_answer* answer, lanner_token* token);
/* Calls `callback` with every token until the end. LANNER_OK or a failure. */
lanner_status lanner_read(lanner_answer* answer, lanner_token_callback callback, void* user);
/* Waits for the end of an answer. LANNER_OK or a failure. */
lanner_status lanner_get_result(lanner_answer* answer, lanner_result* result);
void lanner_cancel(lanner_answer* answer);
/* Cancels an unfinished answer. NULL is allowed. */
void lanner_answer_free(lanner_answer* answer);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-*,readability-identifier-naming) */

#endif
