// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/cpu_features.h"
#include "engine/model_report.h"
#include "engine/prefix_key.h"
#include "io/json.h"
#include "server/problem.h"
#include "server/process_gauges.h"
#include "server/service.h"

/// What a service tells about itself.
namespace lanner::server {
namespace {

#ifdef __clang__
constexpr const char* kCompiler = "Clang";
#else
constexpr const char* kCompiler = "GCC";
#endif

Gauge value_of(const char* name, double value, std::string labels = {}) {
  return {.name = name, .labels = std::move(labels), .value = value};
}

std::string shape_label(std::size_t shape) {
  static constexpr std::array<const char*, engine::kStepKinds> kNames = {"decode", "prompt", "mixed",
                                                                         "verify"};
  return fmt::format("shape=\"{}\"", kNames[shape]);
}

std::string class_label(std::size_t kind) {
  static constexpr std::array<const char*, cache::kCheckpointClasses> kNames = {"end", "interval", "branch",
                                                                                "user", "system"};
  return fmt::format("class=\"{}\"", kNames[kind]);
}

std::vector<GivenHistogram> engine_histograms(const engine::EngineStats& stats) {
  std::vector<GivenHistogram> histograms;
  for (std::size_t i = 0; i < engine::kStepKinds; ++i)
    histograms.push_back({"step_seconds", shape_label(i), stats.step_times[i]});
  histograms.push_back({"iteration_tokens_total", "", stats.step_rows});
  histograms.push_back({"grammar_mask_seconds", "", stats.mask_times});
  return histograms;
}

void add_by_kind(std::vector<Gauge>& gauges, const char* name, const cache::CacheBytes& bytes,
                 double scale = 1) {
  gauges.push_back(value_of(name, scale * static_cast<double>(bytes.full), "kind=\"full\""));
  gauges.push_back(value_of(name, scale * static_cast<double>(bytes.sliding), "kind=\"sliding\""));
  gauges.push_back(value_of(name, scale * static_cast<double>(bytes.recurrent), "kind=\"recurrent\""));
}

std::vector<Gauge> engine_gauges(const engine::EngineStats& stats) {
  std::vector<Gauge> gauges = {
      value_of("num_requests_running", static_cast<double>(stats.running)),
      value_of("num_requests_waiting", static_cast<double>(std::max(stats.waiting, stats.queued))),
      value_of("num_requests_preempted", static_cast<double>(stats.preempted)),
      value_of("workspace_bytes", static_cast<double>(stats.workspace_bytes), "device=\"cpu\""),
      value_of("prefix_cache_checkpoints", static_cast<double>(stats.prefixes.checkpoints))};
  add_by_kind(gauges, "kv_cache_bytes", stats.reserved);
  const double budget = static_cast<double>(std::max<std::size_t>(stats.cache_total_bytes, 1));
  add_by_kind(gauges, "kv_cache_usage_perc", stats.reserved, 1 / budget);
  add_by_kind(gauges, "prefix_cache_bytes", stats.prefixes.bytes);
  // Keys and values of full layers are shared with the sequences; the rest is what a snapshot adds.
  add_by_kind(
      gauges, "state_checkpoint_bytes",
      {.full = 0, .sliding = stats.prefixes.bytes.sliding, .recurrent = stats.prefixes.bytes.recurrent});
  return gauges;
}

std::vector<Gauge> engine_counters(const engine::EngineStats& stats) {
  double drafted = 0, accepted = 0;
  std::vector<Gauge> counters;
  for (std::size_t i = 0; i < stats.accepted.size(); ++i) {
    drafted += static_cast<double>(stats.drafted[i]);
    accepted += static_cast<double>(stats.accepted[i]);
    counters.push_back(value_of("spec_decode_num_accepted_tokens_per_pos_total",
                                static_cast<double>(stats.accepted[i]), fmt::format("position=\"{}\"", i)));
  }
  counters.push_back(value_of("spec_decode_num_drafts_total", static_cast<double>(stats.drafted[0])));
  counters.push_back(value_of("spec_decode_num_draft_tokens_total", drafted));
  counters.push_back(value_of("spec_decode_num_accepted_tokens_total", accepted));
  counters.push_back(value_of("grammar_rows_late_total", static_cast<double>(stats.put_off)));
  counters.push_back(value_of("device_losses_total", static_cast<double>(stats.device_losses)));
  counters.push_back(
      value_of("num_preemptions_total", static_cast<double>(stats.preemptions), "kind=\"recompute\""));
  for (std::size_t i = 0; i < engine::kStepKinds; ++i)
    counters.push_back(
        value_of("steps_total", static_cast<double>(stats.step_times[i].total()), shape_label(i)));
  counters.push_back(value_of("prefix_cache_queries_total", static_cast<double>(stats.computed_prompt_tokens +
                                                                                stats.cached_prompt_tokens)));
  counters.push_back(value_of("prefix_cache_hits_total", static_cast<double>(stats.cached_prompt_tokens)));
  for (std::size_t i = 0; i < cache::kCheckpointClasses; ++i)
    counters.push_back(value_of("prefix_cache_evictions_total",
                                static_cast<double>(stats.prefixes.evicted[i]), class_label(i)));
  for (std::size_t i = 0; i < cache::kCheckpointClasses; ++i)
    counters.push_back(
        value_of("checkpoints_total", static_cast<double>(stats.prefixes.stored[i]), class_label(i)));
  return counters;
}

double weight_bytes(const engine::LoadedModel& model) {
  double bytes = 0;
  for (const engine::WeightGroup& group : engine::weight_groups(model.model().facts()))
    bytes += static_cast<double>(group.size_bytes);
  return bytes;
}

}  // namespace

void Service::answer_health(const Call& call) const {
  if (draining_) return call.exchange->respond({.status = 503, .body = R"({"status":"draining"})"});
  if (!call.served)
    return call.exchange->respond(
        {.status = 503,
         .body = fmt::format(R"({{"status":"loading","progress":{:.3f}}})", progress_.load())});
  if (const engine::EngineStats stats = call.served->engine->stats(); stats.recovering)
    return call.exchange->respond(
        {.status = 503,
         .body = io::Json{{"status", "recovering"}, {"reason", stats.recovery_reason}}.dump()});
  call.respond({{"status", "ok"}});
}

void Service::answer_metrics(const Call& call) const {
  if (!options_.metrics)
    throw RequestError(not_found("not_found", "metrics are off, start the server with --metrics"));
  std::vector<Gauge> gauges, counters;
  std::vector<GivenHistogram> histograms;
  if (call.served) {
    const engine::EngineStats stats = call.served->engine->stats();
    gauges = engine_gauges(stats);
    gauges.push_back(value_of("response_store_bytes", static_cast<double>(call.responses->size_bytes())));
    for (const engine::MountedAdapter& mounted : call.served->engine->adapters().list())
      gauges.push_back(value_of("lora_requests_info", static_cast<double>(mounted.in_use),
                                fmt::format("adapter=\"{}\"", mounted.id)));
    const std::string device = fmt::format("device=\"{}\"", call.served->model->ops().device);
    gauges.push_back(value_of("weights_bytes", weight_bytes(*call.served->model), device));
    if (const auto memory = call.served->model->device_memory()) {
      gauges.push_back(value_of("device_memory_used_bytes",
                                static_cast<double>(memory->total_bytes - memory->free_bytes), device));
      gauges.push_back(
          value_of("device_memory_total_bytes", static_cast<double>(memory->total_bytes), device));
    }
    counters = engine_counters(stats);
    histograms = engine_histograms(stats);
    histograms.push_back({"grammar_compile_seconds", "", call.served->grammars->compile_times()});
  }
  call.exchange->respond({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                          .body = metrics_->expose(gauges, counters, histograms) + process_gauges()});
}

void Service::answer_stats(const Call& call) const {
  const engine::EngineStats stats = call.served->engine->stats();
  Json adapters = Json::array();
  for (const engine::MountedAdapter& mounted : call.served->engine->adapters().list())
    adapters.push_back({{"id", mounted.id}, {"in_use", mounted.in_use}});
  call.respond({{"model", call.served->rules.model},
                {"started", started_},
                {"running", stats.running},
                {"waiting", stats.waiting},
                {"queued", stats.queued},
                {"caches",
                 {{"reserved_bytes", stats.cache_bytes},
                  {"budget_bytes", stats.cache_total_bytes},
                  {"used_bytes", stats.used_bytes},
                  {"peak_bytes", stats.peak_bytes},
                  {"kv_types", engine::kv_types_name(call.served->model->cache_spec())}}},
                {"prefixes",
                 {{"checkpoints", stats.prefixes.checkpoints},
                  {"size_bytes", stats.prefixes.bytes.total()},
                  {"lookups", stats.prefixes.lookups},
                  {"hits", stats.prefixes.hits},
                  {"reused_tokens", stats.prefixes.reused_tokens},
                  {"evictions", stats.prefixes.evictions}}},
                {"weights_bytes", weight_bytes(*call.served->model)},
                {"adapters", std::move(adapters)},
                {"adapter_bytes", stats.adapter_bytes},
                {"steps", stats.steps},
                {"step_seconds", stats.step_seconds},
                {"computed_prompt_tokens", stats.computed_prompt_tokens},
                {"cached_prompt_tokens", stats.cached_prompt_tokens},
                {"generated_tokens", stats.generated_tokens},
                {"finished", {{"stop", stats.finished_stop}, {"length", stats.finished_length}}},
                {"cancelled", stats.cancelled},
                {"failed", stats.failed},
                {"refused", stats.refused},
                {"preemptions", stats.preemptions},
                {"speculation", {{"drafted", stats.drafted}, {"accepted", stats.accepted}}}});
}

void Service::answer_version(const Call& call) const {
  Json features = Json::array();
  for (const Isa isa : supported_isas()) features.push_back(name(isa));
  if (device::built_with_cuda()) features.push_back("cuda");
  call.respond({{"version", options_.version},
                {"build", fmt::format("{} {}", kCompiler, __VERSION__)},
                {"device", call.served ? Json(call.served->model->ops().device) : Json(nullptr)},
                {"features", features}});
}

}  // namespace lanner::server
