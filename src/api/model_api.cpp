// SPDX-License-Identifier: MIT
#include <new>
#include <utility>

#include "api/answer_options.h"
#include "core/error.h"
#include "core/thread_pool.h"
#include "engine/answer_constraint.h"
#include "engine/chat_prompt.h"
#include "engine/engine.h"
#include "engine/grammar_cache.h"
#include "lanner/lanner.hpp"

namespace lanner::api {
namespace {

ErrorKind public_kind(lanner::ErrorKind kind) {
  switch (kind) {
    case lanner::ErrorKind::kInvalidArgument:
      return ErrorKind::kInvalidArgument;
    case lanner::ErrorKind::kNotFound:
      return ErrorKind::kNotFound;
    case lanner::ErrorKind::kIo:
      return ErrorKind::kIo;
    case lanner::ErrorKind::kCorrupt:
      return ErrorKind::kCorrupt;
    case lanner::ErrorKind::kUnsupported:
      return ErrorKind::kUnsupported;
    case lanner::ErrorKind::kOutOfMemory:
      return ErrorKind::kOutOfMemory;
    case lanner::ErrorKind::kInternal:
      return ErrorKind::kInternal;
  }
  return ErrorKind::kInternal;
}

/// Runs `body`, its errors as public ones.
template <typename Body>
decltype(auto) guarded(Body&& body) {
  try {
    return body();
  } catch (const lanner::Error& error) {
    throw Error(public_kind(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kOutOfMemory, "memory ran out");
  }
}

void require(bool holds, const char* message) {
  if (!holds) throw Error(ErrorKind::kInvalidArgument, message);
}

engine::LoadOptions load_options(const LoadOptions& options, int threads) {
  engine::LoadOptions load{.isa = detect_isa(), .cuda = options.cuda, .threads = threads};
  if (!options.exact && !options.cuda) load.compute = device::Compute::kInt8;
  if (options.kv_type.empty()) return load;
  load.kv_type = device::parse_kv_type(options.kv_type);
  if (!load.kv_type)
    throw Error(ErrorKind::kUnsupported,
                "kv_type is \"" + options.kv_type + "\", expected bf16, f32, q8, q6 or q4");
  return load;
}

text::ThinkingSwitch thinking_switch(std::optional<bool> thinking) {
  if (!thinking) return text::ThinkingSwitch::kTemplateDefault;
  return *thinking ? text::ThinkingSwitch::kOn : text::ThinkingSwitch::kOff;
}

template <typename To, typename From>
void override(To& value, const std::optional<From>& given) {
  if (given) value = *given;
}

engine::Request request_of(const engine::LoadedModel& model, const GenerateOptions& options) {
  const auto in = [](const auto& value, double low, double high) {
    return !value || (*value >= low && *value <= high);
  };
  require(in(options.temperature, 0, 100), "temperature must be from 0 to 100");
  require(in(options.top_p, 0, 1), "top_p must be from 0 to 1");
  require(in(options.min_p, 0, 1), "min_p must be from 0 to 1");
  require(options.logprobs.value_or(0) <= 20, "logprobs must be from 0 to 20");
  engine::Request request;
  request.sampling = model.defaults().sampling;
  override(request.sampling.temperature, options.temperature);
  override(request.sampling.top_k, options.top_k);
  override(request.sampling.top_p, options.top_p);
  override(request.sampling.min_p, options.min_p);
  override(request.sampling.seed, options.seed);
  request.max_tokens = options.max_tokens;
  request.stop = options.stop;
  request.timeout = options.timeout;
  request.top_logprobs = options.logprobs;
  return request;
}

Part public_part(engine::AnswerPart part) {
  switch (part) {
    case engine::AnswerPart::kReasoning:
      return Part::kReasoning;
    case engine::AnswerPart::kContent:
      return Part::kContent;
    case engine::AnswerPart::kToolCall:
      return Part::kToolCall;
  }
  return Part::kContent;
}

FinishReason public_reason(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::kStop:
      return FinishReason::kStop;
    case engine::FinishReason::kLength:
      return FinishReason::kLength;
    case engine::FinishReason::kCancelled:
      return FinishReason::kCancelled;
  }
  return FinishReason::kStop;
}

Error failure_of(const engine::Failure& failure) {
  if (failure.kind == engine::FailureKind::kDeadline || failure.kind == engine::FailureKind::kQueueTimeout)
    return {ErrorKind::kTimeout, failure.message};
  return {public_kind(failure.error), failure.message};
}

}  // namespace

class Answer::Impl {
 public:
  explicit Impl(engine::RequestHandle handle) : handle_(std::move(handle)) {}

  std::optional<Token> next() {
    while (!over_) {
      std::optional<engine::Event> event = handle_.next();
      if (!event) break;
      if (auto token = take(*event)) return token;
    }
    if (failure_) throw Error(*failure_);
    return std::nullopt;
  }

  void cancel() { handle_.cancel(); }
  const Result& result() {
    while (next()) {
    }
    return result_;
  }

 private:
  std::optional<Token> take(const engine::Event& event) {
    if (const auto* token = std::get_if<engine::TokenEvent>(&event)) {
      Token taken{token->id, public_part(token->part), keep(token->text)};
      if (!token->logprob) return taken;
      taken.logprob = token->logprob->token.logprob;
      for (const engine::TokenLogprob& likely : token->logprob->top)
        taken.likeliest.push_back({likely.id, likely.logprob});
      return taken;
    }
    if (const auto* end = std::get_if<engine::ChoiceEnd>(&event)) {
      result_.finish_reason = public_reason(end->reason);
      const std::string text = keep(end->text);
      if (!text.empty()) return Token{-1, end_part_, text};  // what was held back for stop strings
    } else if (const auto* done = std::get_if<engine::RequestEnd>(&event)) {
      result_.prompt_tokens = done->timings.prompt_tokens;
      result_.cached_tokens = done->timings.cached_tokens;
      result_.generated_tokens = done->timings.generated_tokens;
      result_.prompt_seconds = done->timings.prompt_seconds;
      result_.decode_seconds = done->timings.decode_seconds;
      for (text::ParsedOutput::ToolCall& call : text::collect_output(calls_).tool_calls)
        result_.tool_calls.push_back({std::move(call.name), std::move(call.arguments)});
      over_ = true;
    } else if (const auto* failure = std::get_if<engine::Failure>(&event)) {
      failure_ = failure_of(*failure);
      over_ = true;
    }
    return std::nullopt;
  }

  /// Adds text to the result, and returns it as one piece.
  std::string keep(const std::vector<text::OutputEvent>& events) {
    using Kind = text::OutputEvent::Kind;
    std::string text;
    for (const text::OutputEvent& event : events) {
      if (event.kind != Kind::kReasoning && event.kind != Kind::kContent) calls_.push_back(event);
      if (event.kind == Kind::kToolEnd) continue;
      if (event.kind == Kind::kReasoning) result_.reasoning += event.text;
      if (event.kind == Kind::kContent) result_.content += event.text;
      end_part_ = event.kind == Kind::kReasoning ? Part::kReasoning
                  : event.kind == Kind::kContent ? Part::kContent
                                                 : Part::kToolCall;
      text += event.text;
    }
    return text;
  }

  engine::RequestHandle handle_;
  Result result_;
  std::vector<text::OutputEvent> calls_;
  std::optional<Error> failure_;
  Part end_part_ = Part::kContent;
  bool over_ = false;
};

Answer::Answer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Answer::Answer(Answer&&) noexcept = default;
Answer& Answer::operator=(Answer&&) noexcept = default;
Answer::~Answer() = default;
std::optional<Token> Answer::next() { return impl_->next(); }
void Answer::cancel() { impl_->cancel(); }
const Result& Answer::result() { return impl_->result(); }

class Model::Impl {
 public:
  Impl(const std::filesystem::path& folder, const LoadOptions& options)
      : threads_(options.threads > 0 ? options.threads : available_cores()),
        model_(std::make_shared<engine::LoadedModel>(folder, load_options(options, threads_))),
        grammars_(model_),
        engine_(model_, {.threads = threads_,
                         .max_sequences = options.max_sequences,
                         .cache_bytes = options.cache_bytes}) {}

  Answer submit(engine::Request request, const GenerateOptions& options) {
    request.adapters = engine_.adapters().select(engine::parse_adapter_choices(options.adapter));
    std::variant<engine::RequestHandle, engine::Refusal> taken = engine_.submit(std::move(request));
    if (const auto* refusal = std::get_if<engine::Refusal>(&taken)) {
      const bool later = refusal->kind == engine::RefusalKind::kQueueFull ||
                         refusal->kind == engine::RefusalKind::kDraining ||
                         refusal->kind == engine::RefusalKind::kDeviceLost;
      throw Error(later                                           ? ErrorKind::kBusy
                  : refusal->kind == engine::RefusalKind::kMemory ? ErrorKind::kOutOfMemory
                                                                  : ErrorKind::kInvalidArgument,
                  refusal->message);
    }
    return Answer(std::make_unique<Answer::Impl>(std::move(std::get<engine::RequestHandle>(taken))));
  }

  engine::ConstraintFactory constraint(const engine::CallableTools& tools, const engine::AnswerShape& shape) {
    return engine::binds_calls(tools, shape) ? engine::tool_constraint(tools, shape, model_, grammars_)
                                             : engine::shape_constraint(shape, model_, grammars_);
  }

  const engine::LoadedModel& model() const { return *model_; }
  engine::Engine& engine() { return engine_; }
  const engine::Engine& engine() const { return engine_; }

 private:
  int threads_;
  std::shared_ptr<const engine::LoadedModel> model_;
  engine::GrammarCache grammars_;
  engine::Engine engine_;
};

Model::Model(const std::filesystem::path& folder, const LoadOptions& options) {
  require(options.threads >= 0 && options.threads <= 1024, "threads must be from 0 to 1024");
  require(options.max_sequences >= 1 && options.max_sequences <= 4096,
          "max_sequences must be from 1 to 4096");
  impl_ = guarded([&] { return std::make_unique<Impl>(folder, options); });
}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Answer Model::chat(std::span<const Message> messages, const GenerateOptions& options) {
  return guarded([&] {
    engine::Request request = request_of(impl_->model(), options);
    const engine::CallableTools tools = callable_tools(options);
    request.constraint = impl_->constraint(tools, answer_shape(options));
    request.tools = tools.tools;
    text::ChatInput input{.tools = tools.tools, .thinking = thinking_switch(options.thinking)};
    for (const Message& message : messages) input.messages.push_back(message_json(message));
    engine::ChatPrompt prompt = engine::encode_chat_prompt(impl_->model().text(), input);
    request.prompt = std::move(prompt.ids);
    request.checkpoints = std::move(prompt.checkpoints);
    return impl_->submit(std::move(request), options);
  });
}

Answer Model::complete(std::string_view text, const GenerateOptions& options) {
  return guarded([&] {
    engine::Request request = request_of(impl_->model(), options);
    require(options.tools.empty(), "tools need a conversation: use chat()");
    request.constraint = impl_->constraint({}, answer_shape(options));
    request.form = engine::AnswerForm::kPlain;
    request.prompt = impl_->model().encode_plain(text);
    return impl_->submit(std::move(request), options);
  });
}

void Model::mount_adapter(const std::string& id, const std::filesystem::path& folder, float scale) {
  guarded([&] {
    const engine::MountResult result = impl_->engine().mount_adapter(id, folder, scale);
    require(result != engine::MountResult::kConflict, "another adapter has this id; unmount it first");
    return result;
  });
}

bool Model::unmount_adapter(const std::string& id) {
  return guarded([&] {
    return impl_->engine().unmount_adapter(id, engine::UnmountRule::kLetEnd) ==
           engine::UnmountResult::kUnmounted;
  });
}

std::vector<std::int32_t> Model::tokenize(std::string_view text) const {
  return guarded([&] { return impl_->model().encode_plain(text); });
}

std::string Model::detokenize(std::span<const std::int32_t> ids) const {
  return guarded([&] { return impl_->model().tokenizer().decode(ids); });
}

std::size_t Model::context() const { return impl_->model().model().facts().context; }

Stats Model::stats() const {
  const engine::EngineStats stats = impl_->engine().stats();
  return {.running = stats.running,
          .queued = stats.queued,
          .cache_bytes = stats.cache_bytes,
          .cache_total_bytes = stats.cache_total_bytes,
          .prompt_tokens = stats.computed_prompt_tokens,
          .cached_tokens = stats.cached_prompt_tokens,
          .generated_tokens = stats.generated_tokens};
}

std::string_view version() { return LANNER_VERSION; }

}  // namespace lanner::api
