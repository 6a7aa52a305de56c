// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// lanner inside a program: load a model, submit prompts, read tokens as they come. docs/embedding.md.
namespace lanner::api {

/// What went wrong.
enum class ErrorKind : std::uint8_t {
  kInvalidArgument,  ///< the caller asked for something impossible
  kNotFound,         ///< a file or folder does not exist
  kIo,               ///< the operating system refused
  kCorrupt,          ///< a file's bytes contradict their format, or two files each other
  kUnsupported,      ///< well formed, but nothing lanner runs
  kOutOfMemory,
  kBusy,      ///< too many requests are waiting: try again later
  kTimeout,   ///< the request took longer than it was given
  kInternal,  ///< a bug in lanner
};

/// The one exception. The message is one line: where, what was found, what was expected.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

/// How a checkpoint folder is loaded.
struct LoadOptions {
  int threads = 0;                ///< 0 = the cores this process may use
  std::optional<int> cuda = {};   ///< index of an NVIDIA GPU; none = the CPU
  bool exact = false;             ///< float32 arithmetic in place of int8 activations
  std::string kv_type = {};       ///< "bf16", "f32", "q8", "q6", "q4"; empty = as the folder says
  std::size_t max_sequences = 8;  ///< answered at once
  std::optional<std::size_t> cache_bytes = {};  ///< for all sequences; none = what the machine has left
};

/// A tool that the model wants called.
struct ToolCall {
  std::string name;
  std::string arguments;  ///< JSON text of an object
};

/// One message of a conversation: role "system", "user", "assistant", or "tool" for what a called tool
/// returned.
struct Message {
  std::string role;
  std::string content;
  std::vector<ToolCall> tool_calls = {};  ///< of an assistant's message
};

/// What an answer's content must be; reasoning before it and calls of tools are free of it.
enum class Format : std::uint8_t {
  kFree,
  kJsonObject,  ///< any JSON object
  kJsonSchema,  ///< JSON by the schema `format_text`
  kRegex,       ///< text that the expression `format_text` matches as a whole
  kChoice,      ///< one of `choices`
  kGbnf,        ///< text by the grammar `format_text`, in llama.cpp's notation
  kLark,        ///< the same in Lark's notation
};
/// Whether an answer calls tools.
enum class ToolUse : std::uint8_t {
  kAuto,      ///< as the model likes
  kRequired,  ///< it consists of calls, with arguments as the tools' parameters ask
};

/// How a prompt is answered. What is not set comes from the checkpoint.
struct GenerateOptions {
  std::optional<float> temperature = {};  ///< 0 = always the likeliest token
  std::optional<std::size_t> top_k = {};
  std::optional<float> top_p = {};
  std::optional<float> min_p = {};
  std::optional<std::uint64_t> seed = {};      ///< none = 0; the same seed gives the same answer
  std::optional<std::size_t> max_tokens = {};  ///< none = what context and memory hold
  std::vector<std::string> stop = {};          ///< the answer ends before any of these
  std::optional<bool> thinking = {};           ///< none = as the chat template does
  std::string adapter = {};                    ///< mounted ones: "a", "a@0.5+b"; empty = none
  std::optional<std::chrono::milliseconds> timeout = {};
  Format format = Format::kFree;
  std::string format_text = {};
  std::vector<std::string> choices = {};
  std::string tools = {};  ///< JSON text: an array of tools in the form of OpenAI's requests; chat() only
  ToolUse tool_use = ToolUse::kAuto;
  /// None = no log-probabilities; else how many of the likeliest tokens to list at each place, from 0 to 20.
  std::optional<std::size_t> logprobs = {};
};

/// What a piece of an answer is.
enum class Part : std::uint8_t { kReasoning, kContent, kToolCall };

/// A token that might have come, and how likely it was.
struct Likely {
  std::int32_t id = 0;
  float logprob = 0;
};

/// One token, and the text that it makes certain: perhaps none (half a character, a marker), perhaps more
/// than its own.
struct Token {
  std::int32_t id = 0;
  Part part = Part::kContent;
  std::string text;
  /// When asked for: natural logarithms over the whole vocabulary, before temperature, truncation and format.
  std::optional<float> logprob = {};
  std::vector<Likely> likeliest = {};  ///< likeliest first
};

/// Why an answer ended.
enum class FinishReason : std::uint8_t { kStop, kLength, kCancelled };

/// What an answer was and cost.
struct Result {
  FinishReason finish_reason = FinishReason::kStop;
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> tool_calls;  ///< complete ones
  std::size_t prompt_tokens = 0;
  std::size_t cached_tokens = 0;  ///< of them: known from earlier requests
  std::size_t generated_tokens = 0;
  double prompt_seconds = 0;
  double decode_seconds = 0;
};

/// What a model's engine is doing and has done.
struct Stats {
  std::size_t running = 0;  ///< sequences
  std::size_t queued = 0;   ///< requests
  std::size_t cache_bytes = 0;
  std::size_t cache_total_bytes = 0;
  std::uint64_t prompt_tokens = 0;  ///< computed
  std::uint64_t cached_tokens = 0;  ///< known already
  std::uint64_t generated_tokens = 0;
};

/// An answer on its way. Used from one thread at a time, cancel() from any. Destroying it cancels the
/// request. Move-only.
class Answer {
 public:
  class Impl;
  explicit Answer(std::unique_ptr<Impl> impl);
  Answer(Answer&&) noexcept;
  Answer& operator=(Answer&&) noexcept;
  ~Answer();

  /// Waits for the next token; none after the last. Throws Error when the request fails.
  std::optional<Token> next();
  /// Ends the answer at the engine's next step.
  void cancel();
  /// Waits for the end, and tells all of it. Throws Error when the request fails.
  const Result& result();

 private:
  std::unique_ptr<Impl> impl_;
};

/// A loaded model with its engine: requests submitted from any thread are answered side by side, each as it
/// would be alone.
class Model {
 public:
  /// Throws Error for anything wrong with the folder or the options.
  explicit Model(const std::filesystem::path& folder, const LoadOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  /// Cancels what is unfinished.
  ~Model();

  /// The next message of a conversation, through the model's chat template. Throws Error kBusy when the queue
  /// is full, kInvalidArgument when the prompt does not fit the context.
  Answer chat(std::span<const Message> messages, const GenerateOptions& options = {});
  /// Goes on with a text. Throws as chat().
  Answer complete(std::string_view text, const GenerateOptions& options = {});

  /// Makes a LoRA adapter's folder (PEFT or mlx-lm) available to requests under an id; `scale` multiplies its
  /// own. CPU only. Throws Error, kInvalidArgument also when the id is taken by another adapter.
  void mount_adapter(const std::string& id, const std::filesystem::path& folder, float scale = 1);
  /// Requests that use it keep it to their end. False when there is none.
  bool unmount_adapter(const std::string& id);

  std::vector<std::int32_t> tokenize(std::string_view text) const;
  std::string detokenize(std::span<const std::int32_t> ids) const;
  std::size_t context() const;  ///< tokens that a prompt and its answer may have
  Stats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// "0.1.0"
std::string_view version();

}  // namespace lanner::api
