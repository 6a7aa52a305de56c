// SPDX-License-Identifier: MIT
#include "cli/sampling_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include "cli/validators.h"
#include "core/error.h"

namespace lanner::cli {
namespace {

constexpr const char* kSampling = "Sampling (default: the checkpoint's generation_config.json)";
constexpr const char* kLength = "Length";
constexpr std::int64_t kMostTokens = 1 << 30;

void add_truncation_options(CLI::App& app, SamplingArguments& arguments) {
  app.add_option("--temp,--temperature", arguments.temperature,
                 "temperature; 0 always takes the likeliest token")
      ->type_name("X")
      ->check(number_between(0, 100))
      ->group(kSampling);
  app.add_option("--top-k", arguments.top_k, "keep the K likeliest tokens; 0 = off")
      ->type_name("K")
      ->check(whole_between(0, kMostTokens))
      ->group(kSampling);
  app.add_option("--top-p", arguments.top_p, "keep the likeliest tokens that hold P of the mass; 1 = off")
      ->type_name("P")
      ->check(number_between(0, 1))
      ->group(kSampling);
  app.add_option("--min-p", arguments.min_p, "drop tokens less likely than P times the likeliest; 0 = off")
      ->type_name("P")
      ->check(number_between(0, 1))
      ->group(kSampling);
}

void add_penalty_options(CLI::App& app, SamplingArguments& arguments) {
  app.add_option("--repeat-penalty,--repetition-penalty", arguments.repeat_penalty,
                 "divide the logits of recent tokens; 1 = off")
      ->type_name("X")
      ->check(number_between(0.01, 100))
      ->group(kSampling);
  app.add_option("--presence-penalty", arguments.presence_penalty,
                 "subtract from the logits of recent tokens; 0 = off")
      ->type_name("X")
      ->check(number_between(-100, 100))
      ->group(kSampling);
  app.add_option("--frequency-penalty", arguments.frequency_penalty,
                 "subtract once per recent occurrence; 0 = off")
      ->type_name("X")
      ->check(number_between(-100, 100))
      ->group(kSampling);
  app.add_option("--repeat-last-n", arguments.repeat_last_n,
                 "how many tokens count as recent, prompt included (default: 20); -1 = all, 0 = no penalties")
      ->type_name("N")
      ->check(whole_between(-1, kMostTokens))
      ->group(kSampling);
}

void add_choice_options(CLI::App& app, SamplingArguments& arguments) {
  app.add_option_function<std::vector<std::string>>(
         "-l,--logit-bias",
         [&arguments](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) arguments.logit_bias.insert(*parse_logit_bias(text));
         },
         "add to one token's logit, for example 15043+1, 15043-1 or 15043=-inf; may be repeated")
      ->type_name("ID+X")
      ->take_all()
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](std::string& text) {
            return parse_logit_bias(text)
                       ? std::string()
                       : fmt::format("\"{}\" is not a token id, a sign and a number", text);
          },
          std::string(), "logit bias"))
      ->group(kSampling);
  app.add_option("-s,--seed", arguments.seed, "seed of the random choices (default: random, and shown)")
      ->type_name("N")
      ->check(any_64_bits())
      ->group(kSampling);
}

void add_length_options(CLI::App& app, SamplingArguments& arguments) {
  app.add_option("-n,--max-tokens,--n-predict", arguments.max_tokens,
                 "longest answer in tokens; -1 = to the end of the context (default)")
      ->type_name("N")
      ->check(CLI::Validator(
          [](std::string& text) {
            return text == "-1" ? std::string() : whole_between(1, kMostTokens)(text);
          },
          std::string(), "length"))
      ->group(kLength);
  app.add_option(
         "-c,--ctx,--ctx-size", arguments.context,
         "use only so many tokens of the model's context, prompt and answer together; 0 = all (default)")
      ->type_name("N")
      ->check(CLI::Validator(
          [](std::string& text) { return text == "0" ? std::string() : whole_between(2, kMostTokens)(text); },
          std::string(), "context"))
      ->group(kLength);
  app.add_option("--chunk", arguments.chunk,
                 "prompt tokens of one forward pass (default: 512); changes no result")
      ->type_name("N")
      ->check(whole_between(1, 1 << 16))
      ->group(kLength);
  app.add_option("--draft,--draft-max", arguments.draft_tokens,
                 "guess up to N tokens ahead from repetitions in the text; faster for some texts, changes no "
                 "result; 0 = off (default)")
      ->type_name("N")
      ->check(whole_between(0, 16))
      ->group(kLength);
  app.add_option("--stop", arguments.stop, "end the answer before this text; may be repeated")
      ->type_name("TEXT")
      ->check(not_empty())
      ->take_all()
      ->allow_extra_args(false)
      ->group(kLength);
  app.add_flag("--ignore-eos", arguments.ignore_eos, "never choose an end-of-text token")->group(kLength);
}

template <typename T, typename U>
void override(T& value, const std::optional<U>& given) {
  if (given) value = static_cast<T>(*given);
}

}  // namespace

void add_sampling_options(CLI::App& app, SamplingArguments& arguments) {
  add_truncation_options(app, arguments);
  add_penalty_options(app, arguments);
  add_choice_options(app, arguments);
  add_length_options(app, arguments);
}

engine::SamplingOptions sampling_options(const SamplingArguments& arguments,
                                         const engine::GenerationDefaults& defaults, std::size_t vocabulary,
                                         std::uint64_t seed) {
  engine::SamplingOptions options = defaults.sampling;
  override(options.temperature, arguments.temperature);
  override(options.top_k, arguments.top_k);
  override(options.top_p, arguments.top_p);
  override(options.min_p, arguments.min_p);
  override(options.repetition_penalty, arguments.repeat_penalty);
  override(options.presence_penalty, arguments.presence_penalty);
  override(options.frequency_penalty, arguments.frequency_penalty);
  if (arguments.repeat_last_n) {
    if (*arguments.repeat_last_n == 0) {
      options.repetition_penalty = 1;
      options.presence_penalty = options.frequency_penalty = 0;
    }
    options.penalty_window = static_cast<std::size_t>(std::max<std::int64_t>(0, *arguments.repeat_last_n));
    options.presence_window = options.frequency_window = options.penalty_window;
  }
  for (const auto& [id, bias] : arguments.logit_bias) {
    if (static_cast<std::size_t>(id) >= vocabulary)
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--logit-bias: token id {} is outside the vocabulary, expected 0 to {}", id,
                              vocabulary - 1));
    options.logit_bias[id] = bias;
  }
  options.seed = arguments.seed.value_or(seed);
  return options;
}

engine::Request answer_request(const SamplingArguments& arguments, std::vector<TokenId> prompt,
                               const engine::LoadedModel& model) {
  engine::Request request;
  request.prompt = std::move(prompt);
  const std::size_t whole = model.model().facts().context;
  const std::size_t context = arguments.context > 0 ? std::min(whole, arguments.context) : whole;
  request.context = context;
  // People ask for "at most"; what does not fit the context is not an error here.
  if (arguments.max_tokens >= 0 && request.prompt.size() < context)
    request.max_tokens =
        std::min(static_cast<std::size_t>(arguments.max_tokens), context - request.prompt.size());
  request.end_of_text = arguments.ignore_eos ? engine::EndOfText::kBanned : engine::EndOfText::kStops;
  request.stop = arguments.stop;
  request.draft_tokens = arguments.draft_tokens;
  return request;
}

engine::EngineOptions engine_options(const ModelArguments& machine, const SamplingArguments& arguments) {
  engine::EngineOptions options{.threads = machine.thread_count()};
  options.prefill_chunk = arguments.chunk;
  options.max_step_tokens = std::max(options.max_step_tokens, arguments.chunk);
  return options;
}

std::uint64_t random_seed() { return std::random_device{}(); }

std::optional<std::pair<TokenId, float>> parse_logit_bias(const std::string& text) {
  const char* end = text.data() + text.size();
  TokenId id = -1;
  const auto [after_id, error] = std::from_chars(text.data(), end, id);
  if (error != std::errc() || id < 0 || after_id == end) return std::nullopt;
  // from_chars knows no leading plus.
  const char* number = *after_id == '-' ? after_id : after_id + 1;
  if (*after_id != '+' && *after_id != '-' && *after_id != '=') return std::nullopt;
  float bias = 0;
  const auto result = std::from_chars(number, end, bias);
  const bool endless = result.ec == std::errc() && std::isinf(bias) && bias > 0;
  if (result.ec != std::errc() || result.ptr != end || std::isnan(bias) || endless) return std::nullopt;
  return std::pair{id, bias};
}

}  // namespace lanner::cli
