// SPDX-License-Identifier: MIT
#include "models/adapter_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/fields.h"
#include "io/message_text.h"

namespace lanner::models {
namespace {

constexpr const char* kConfigFile = "adapter_config.json";
constexpr const char* kOptiqFile = "optiq_lora_config.json";
constexpr double kMlxScale = 20.0;  // what mlx-lm trains with when nothing is said
constexpr double kPeftAlpha = 8;
constexpr double kMostStrength = 1e30;  // scales are floats
constexpr io::NumberRange kStrengths{.min = -kMostStrength, .max = kMostStrength};

// Matching tries ways to split a path: a few repetitions, none inside another, keep that short.
constexpr std::size_t kLongestKey = 256;
constexpr std::ptrdiff_t kMostRepetitions = 3;

bool is_simple(const std::string& key) {
  const auto is_repetition = [](char c) { return c == '*' || c == '+' || c == '{'; };
  for (std::size_t i = 1; i < key.size(); ++i)
    if (key[i - 1] == ')' && is_repetition(key[i])) return false;
  return key.size() <= kLongestKey && std::ranges::count_if(key, is_repetition) <= kMostRepetitions;
}

std::regex key_pattern(const std::string& key, const std::string& where) {
  if (!is_simple(key))
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: the key {} is longer than {} or repeats too much, expected a module's path or "
                    "a simple regular expression",
                    where, io::in_quotes(key), kLongestKey));
  try {
    return std::regex("^(.*\\.)?(" + key + ")$", std::regex::ECMAScript | std::regex::nosubs);
  } catch (const std::regex_error&) {
    throw Error(ErrorKind::kCorrupt,
                fmt::format("{}: the key {} is no regular expression", where, io::in_quotes(key)));
  }
}

Error unsupported(const io::Fields& config, std::string_view field, std::string_view what) {
  return Error(ErrorKind::kUnsupported,
               fmt::format("{}: {} is {}: {} cannot be served, expected plain LoRA", config.source(), field,
                           io::describe(*config.find(field)), what));
}

/// True for what says nothing: absent, null, false, "none", an empty list or object.
bool is_off(const io::Json* value) {
  return value == nullptr || *value == false || *value == "none" ||
         (value->is_structured() && value->empty());
}

struct Refused {
  const char* field;
  const char* what;
};

// Everything that PEFT can do to a model beside low-rank factors, or with other factors.
constexpr Refused kRefused[] = {
    {"use_dora", "a DoRA adapter"},
    {"use_qalora", "a QALoRA adapter"},
    {"bias", "an adapter with trained biases"},
    {"lora_bias", "an adapter with biases of its factors"},
    {"fan_in_fan_out", "an adapter of transposed weights"},
    {"modules_to_save", "an adapter that replaces whole modules"},
    {"layer_replication", "an adapter that repeats layers"},
    {"trainable_token_indices", "an adapter with trained tokens"},
    {"target_parameters", "an adapter of routed experts"},
    {"alora_invocation_tokens", "an activated LoRA"},
    {"arrow_config", "an Arrow adapter"},
    {"bdlora_config", "a BD-LoRA adapter"},
    {"kasa_config", "a KaSA adapter"},
    {"monteclora_config", "a MonteCLoRA adapter"},
    {"velora_config", "a VeLoRA adapter"},
};

// Initialisations that change the base weights, so that the factors alone are not the adapter.
constexpr const char* kBaseChanging[] = {"pissa", "olora", "corda", "loftq", "lora_ga"};

void refuse_other_methods(const io::Fields& config) {
  if (const auto type = config.find_string("peft_type"); type && *type != "LORA")
    throw unsupported(config, "peft_type", "an adapter of this kind");
  for (const Refused& refused : kRefused)
    if (!is_off(config.find(refused.field))) throw unsupported(config, refused.field, refused.what);
  const io::Json* start = config.find("init_lora_weights");
  if (start == nullptr || !start->is_string()) return;
  for (const char* name : kBaseChanging)
    if (start->get_ref<const std::string&>().starts_with(name))
      throw unsupported(config, "init_lora_weights", "factors over changed base weights");
}

}  // namespace

ModulePatterns::ModulePatterns(const std::string& config_text, const std::string& field,
                               const std::string& source) {
  const auto ordered = nlohmann::ordered_json::parse(config_text);
  const auto found = ordered.find(field);
  if (found == ordered.end() || found->is_null()) return;
  const std::string where = source + ": " + field;
  if (!found->is_object()) throw Error(ErrorKind::kCorrupt, where + " is not an object of numbers");
  for (const auto& [key, value] : found->items()) {
    if (!value.is_number() || value.get<double>() <= 0 || value.get<double>() > kMostStrength)
      throw Error(ErrorKind::kCorrupt,
                  fmt::format("{}: {} is {}, expected a number above 0 and <= {}", where, io::in_quotes(key),
                              io::printable(value.dump()), kMostStrength));
    entries_.push_back({key_pattern(key, where), value.get<double>()});
  }
}

std::optional<double> ModulePatterns::find(const std::string& module) const {
  for (const Entry& entry : entries_)
    if (std::regex_match(module, entry.key)) return entry.value;
  return std::nullopt;
}

AdapterConfig AdapterConfig::read(const std::filesystem::path& folder) {
  AdapterConfig config;
  const bool has_optiq = std::filesystem::exists(folder / kOptiqFile);
  const std::string source = has_optiq ? kOptiqFile : kConfigFile;
  const std::string main_text = io::read_text_file(folder / kConfigFile);
  const io::Json main = io::parse_json(main_text, kConfigFile);
  if (!main.is_object())
    throw Error(ErrorKind::kCorrupt,
                fmt::format("{}: is {}, expected an object", kConfigFile, io::describe(main)));
  refuse_other_methods(io::Fields(main, kConfigFile));
  if (has_optiq)
    config.read_optiq(io::read_text_file(folder / kOptiqFile), source);
  else if (main.contains("peft_type") && !main.contains("lora_parameters"))
    config.read_peft(main_text, source);
  else
    config.read_mlx(main_text, source);
  return config;
}

void AdapterConfig::read_peft(const std::string& text, const std::string& source) {
  const io::Json json = io::parse_json(text, source);
  const io::Fields config(json, source);
  source_ = source;
  rule_ = config.optional_bool("use_rslora", false) ? Rule::kAlphaOverRoot : Rule::kAlphaOverRank;
  strength_ = config.optional_number("lora_alpha", kPeftAlpha, kStrengths);
  rank_ = config.find_int("r", io::kPositive);
  rank_field_ = config.name_of("r");
  ranks_ = ModulePatterns(text, "rank_pattern", source);
  alphas_ = ModulePatterns(text, "alpha_pattern", source);
}

void AdapterConfig::read_mlx(const std::string& text, const std::string& source) {
  const io::Json json = io::parse_json(text, source);
  if (!json.is_object())
    throw Error(ErrorKind::kCorrupt,
                fmt::format("{}: is {}, expected an object", source, io::describe(json)));
  const io::Fields config(json, source);
  source_ = source;
  if (const auto type = config.find_string("fine_tune_type"); type && *type != "lora")
    throw unsupported(config, "fine_tune_type", *type == "dora" ? "a DoRA adapter" : "a whole model");
  const io::Fields parameters = config.required_object("lora_parameters");
  rule_ = parameters.optional_bool("rs_lora", config.optional_bool("rs_lora", false)) ? Rule::kScaleOverRoot
                                                                                      : Rule::kScale;
  strength_ = parameters.optional_number("scale", kMlxScale, kStrengths);
  rank_ = parameters.find_int("rank", io::kPositive);
  rank_field_ = parameters.name_of("rank");
}

void AdapterConfig::read_optiq(const std::string& text, const std::string& source) {
  read_mlx(text, source);
  rank_.reset();  // what the ranks of single modules are made from
}

float AdapterConfig::scale(const std::string& module, std::size_t rank) const {
  if (rule_ == Rule::kScale) return static_cast<float>(strength_);
  const auto r = static_cast<double>(rank);
  const std::optional<double> own = ranks_.find(module);
  if (const std::optional<double> said = own ? own : std::optional<double>(rank_); said && *said != r)
    throw Error(ErrorKind::kCorrupt, fmt::format("{}: {} is {}, expected {} as the factors of {} have",
                                                 source_, own ? "a rank in rank_pattern" : rank_field_, *said,
                                                 rank, io::in_quotes(module)));
  const double strength = alphas_.find(module).value_or(strength_);
  return static_cast<float>(strength / (rule_ == Rule::kAlphaOverRank ? r : std::sqrt(r)));
}

}  // namespace lanner::models
