// SPDX-License-Identifier: MIT
#include <cuda_runtime_api.h>

#include <algorithm>

#include "core/error.h"
#include "core/portable_math.h"
#include "device/cuda_device.h"
#include "device/cuda_error.h"
#include "device/cuda_op_functions.h"
#include "device/shape_check.h"
#include "kernels/sampling/sampling.cuda.h"

namespace lanner::device::cuda {
namespace {

using kernels::LaneForm;
using kernels::ListedToken;
using kernels::SampledToken;
using kernels::SampleLaneCuda;
using kernels::SampleRowCuda;

constexpr std::uint32_t kNoCount = ~std::uint32_t{0};
constexpr std::uint64_t kNoMass = ~std::uint64_t{0};
constexpr std::size_t kMostColumns = std::size_t{1} << 22;

SampleLaneCuda draw_lane(const SampleDraw& draw, std::uint32_t row) {
  SampleLaneCuda lane{.row = row,
                      .form = draw.truncates ? LaneForm::kLogProbabilities : LaneForm::kLogits,
                      .draws = true,
                      .counts = {kNoCount, kNoCount},
                      .masses = {kNoMass, kNoMass},
                      .floor_below_top = draw.min_p_log,
                      .stage_divisor = draw.stage_divisor,
                      .draw_divisor = draw.draw_divisor,
                      .temperature = draw.temperature,
                      .seed = draw.seed,
                      .choice = draw.choice,
                      .position = draw.position};
  const bool counts = draw.top_k > 0;
  const bool weighs = draw.top_p < 1;
  if (counts) lane.counts[0] = static_cast<std::uint32_t>(std::min<std::size_t>(draw.top_k, kNoCount));
  if (weighs) lane.masses[draw.top_p_of_rest ? 1 : 0] = mass_target(draw.top_p);
  lane.walks[0] = counts || (weighs && !draw.top_p_of_rest);
  lane.walks[1] = weighs && draw.top_p_of_rest;
  return lane;
}

SampleLaneCuda list_lane(std::size_t count, std::uint32_t row) {
  return {.row = row,
          .form = LaneForm::kListed,
          .counts = {static_cast<std::uint32_t>(std::max<std::size_t>(count, 1)), kNoCount},
          .masses = {kNoMass, kNoMass},
          .walks = {true, false},
          .floor_below_top = -std::numeric_limits<float>::infinity(),
          .list_capacity = static_cast<std::uint32_t>(count)};
}

/// What the kernels are told of the jobs.
struct Plan {
  std::vector<SampleRowCuda> rows;
  std::vector<SampleLaneCuda> lanes;
  std::uint32_t listed = 0;      ///< room of all lists
  std::size_t value_floats = 0;  ///< of edited rows
};

Plan plan_jobs(CudaDevice& device, const Tensor& logits, std::span<const SampleJob> jobs) {
  Plan plan;
  for (const SampleJob& job : jobs) {
    check_shape(
        job.row < logits.rows() && job.allowed.size() * 64 >= (job.allowed.empty() ? 0 : logits.columns()),
        "sample", logits);
    const auto index = static_cast<std::uint32_t>(plan.rows.size());
    SampleRowCuda row{
        .logits = floats(logits) + job.row * logits.columns(),
        .vocabulary = static_cast<std::uint32_t>(std::min(job.vocabulary, logits.columns())),
        .given = job.given ? *job.given : -1,
        .list_begin = plan.listed,
    };
    if (!job.allowed.empty()) row.allowed = device.stage(job.allowed);
    if (!job.edits.empty()) {
      row.edits = device.stage(std::span<const LogitEdit>(job.edits));
      row.edit_count = static_cast<std::uint32_t>(job.edits.size());
    }
    if (job.draw && !job.given) {
      row.chooser = static_cast<std::int32_t>(plan.lanes.size());
      plan.lanes.push_back(draw_lane(*job.draw, index));
    }
    if (job.top_logprobs) {
      row.lister = static_cast<std::int32_t>(plan.lanes.size());
      const std::size_t count = std::min(*job.top_logprobs, logits.columns());
      plan.lanes.push_back(list_lane(count, index));
      plan.listed += static_cast<std::uint32_t>(count);
    }
    if (row.chooser >= 0 || row.lister >= 0) plan.value_floats += logits.columns();
    plan.rows.push_back(row);
  }
  return plan;
}

SampleResult result_of(const SampledToken& token, const SampleRowCuda& row, const ListedToken* lists) {
  SampleResult result{.id = token.id,
                      .not_a_number = token.not_a_number != 0,
                      .none_left = token.none_left != 0,
                      .logprob = token.logprob};
  for (std::uint32_t i = 0; i < token.listed; ++i)
    result.top.push_back({lists[row.list_begin + i].id, lists[row.list_begin + i].logprob});
  std::ranges::sort(result.top, [](const SampledTop& a, const SampledTop& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.id < b.id;
  });
  return result;
}

}  // namespace

void sample(Stream& stream, std::span<SampleResult> out, const Tensor& logits,
            std::span<const SampleJob> jobs) {
  check_shape(out.size() == jobs.size() && logits.columns() <= kMostColumns, "sample", logits);
  if (jobs.empty()) return;
  CudaDevice& device = stream.cuda();
  Plan plan = plan_jobs(device, logits, jobs);
  const auto row_count = static_cast<std::uint32_t>(plan.rows.size());
  const auto lane_count = static_cast<std::uint32_t>(plan.lanes.size());
  const auto columns = static_cast<std::uint32_t>(logits.columns());

  // What comes back, then edited rows, then what the kernels keep.
  const std::size_t token_bytes = (row_count * sizeof(SampledToken) + 15) / 16 * 16;
  const std::size_t result_bytes = (token_bytes + plan.listed * sizeof(ListedToken) + 15) / 16 * 16;
  const std::size_t value_bytes = (plan.value_floats * sizeof(float) + 15) / 16 * 16;
  std::byte* memory = device.scratch(result_bytes + value_bytes +
                                     kernels::sample_cuda_scratch_bytes(row_count, lane_count, columns));
  auto* values = reinterpret_cast<float*>(memory + result_bytes);
  for (SampleRowCuda& row : plan.rows)
    if (row.chooser >= 0 || row.lister >= 0) row.values = std::exchange(values, values + columns);

  const auto walks = [&](std::size_t walk) {
    return std::ranges::any_of(plan.lanes, [&](const SampleLaneCuda& lane) { return lane.walks[walk]; });
  };
  kernels::sample_cuda(device, {.rows = device.stage(std::span<const SampleRowCuda>(plan.rows)),
                                .row_count = row_count,
                                .lanes = device.stage(std::span<const SampleLaneCuda>(plan.lanes)),
                                .lane_count = lane_count,
                                .columns = columns,
                                .walks = {walks(0), walks(1)},
                                .scratch = memory + result_bytes + value_bytes,
                                .tokens = reinterpret_cast<SampledToken*>(memory),
                                .lists = reinterpret_cast<ListedToken*>(memory + token_bytes)});

  std::byte* host = device.host_buffer(result_bytes);
  device.flush();
  check_cuda(cudaMemcpyAsync(host, memory, result_bytes, cudaMemcpyDeviceToHost, device.stream()),
             "downloading");
  device.synchronize();
  for (std::size_t i = 0; i < jobs.size(); ++i)
    out[i] = result_of(reinterpret_cast<const SampledToken*>(host)[i], plan.rows[i],
                       reinterpret_cast<const ListedToken*>(host + token_bytes));
}

}  // namespace lanner::device::cuda
