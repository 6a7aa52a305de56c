// SPDX-License-Identifier: MIT
// Usage: instruction_counts              lists the cases
//        instruction_counts CASE TIMES   runs a case TIMES times
// For tools/bench_check, which counts instructions under callgrind: a count does not depend on the machine or
// its load, so a kernel that grew shows anywhere. AVX2 only: valgrind knows no AVX-512.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attention_rows.h"
#include "core/buffer.h"
#include "delta_net_layer.h"
#include "kernels/linear/int8_linear.h"
#include "kernels/norm/rms_norm.h"

namespace {

using lanner::Buffer;
using namespace lanner::bench;
using namespace lanner::kernels;

constexpr std::size_t kColumns = 1024;
constexpr std::size_t kOutputs = 256;

std::function<void()> int8_linear(const WeightSpec& spec, std::size_t rows,
                                  WeightStreams streams = WeightStreams::kOne) {
  struct Memory {
    Buffer weights;
    PackedView w;
    std::vector<std::int8_t> codes;
    std::vector<float> scales, sums, out;
    std::vector<std::int32_t> offsets;
  };
  const auto group = static_cast<std::size_t>(spec.group);
  const auto memory = std::make_shared<Memory>();
  memory->weights = Buffer::zeroed(packed_bytes(spec, kOutputs, kColumns));
  memory->w = {.spec = spec, .rows = kOutputs, .columns = kColumns, .data = memory->weights.data()};
  memory->codes.resize(rows * kColumns);
  memory->scales.resize(rows * kColumns / group);
  memory->sums.resize(rows * kColumns / group);
  memory->offsets.resize(rows * kColumns / group);
  memory->out.resize(rows * kOutputs);
  const auto kernels = int8_kernels_avx2(spec, streams);
  kernels.quantize_rows(
      {memory->codes.data(), memory->scales.data(), memory->sums.data(), memory->offsets.data()},
      ramp(rows * kColumns).data(), rows, kColumns, group);
  return [=] {
    kernels.linear(memory->w,
                   {memory->codes.data(), memory->scales.data(), memory->sums.data(), memory->offsets.data(),
                    kColumns, kColumns / group},
                   memory->out.data(), kOutputs, rows, 0, memory->w.tiles());
  };
}

std::function<void()> quantize() {
  const auto x = std::make_shared<std::vector<float>>(ramp(kColumns));
  return [=] {
    std::int8_t codes[kColumns];
    float scales[kColumns / 64];
    float sums[kColumns / 64];
    std::int32_t offsets[kColumns / 64];
    quantize_rows_avx2({codes, scales, sums, offsets}, x->data(), 1, kColumns, 64);
  };
}

std::function<void()> norm() {
  const auto x = std::make_shared<std::vector<float>>(ramp(kColumns));
  return [=] {
    float out[kColumns];
    rms_norm_avx2(out, *x, *x, 1e-6F);
  };
}

std::function<void()> attention(std::size_t rows) {
  const auto memory = std::make_shared<AttentionRows>(rows, 512);
  return [=] { attention_int16_avx2(memory->args(), 0, rows, 0, AttentionRows::kHeads); };
}

std::function<void()> delta_net(std::size_t rows) {
  const auto layer = std::make_shared<DeltaNetLayer>(kDeltaKeyHeads);
  const std::size_t first = rows == kDeltaChunk ? 0 : kDeltaChunk / 2;
  return [=] { delta_net_avx2(layer->args(rows, first), 0, layer->value_heads); };
}

std::function<void()> delta_fold() {
  const auto layer = std::make_shared<DeltaNetLayer>(kDeltaKeyHeads);
  const auto next = std::make_shared<std::vector<float>>(layer->state.size());
  return [=] { delta_fold_avx2(layer->fold_args(next->data()), 0, layer->value_heads); };
}

std::map<std::string, std::function<std::function<void()>()>> cases() {
  std::map<std::string, std::function<std::function<void()>()>> all = {
      {"attention_int16_1row", [] { return attention(1); }},
      {"attention_int16_64rows", [] { return attention(64); }},
      {"delta_fold", delta_fold},
      {"delta_net_1row", [] { return delta_net(1); }},
      {"delta_net_chunk", [] { return delta_net(kDeltaChunk); }},
      {"quantize_rows", quantize},
      {"rms_norm", norm}};
  std::map<std::string, WeightSpec> formats = {{"mxfp4", {WeightFormat::kMxfp4, lanner::DType::kU8, 4, 32}},
                                               {"nvfp4", {WeightFormat::kNvfp4, lanner::DType::kU8, 4, 16}}};
  for (const int bits : {2, 3, 4, 5, 6, 8})
    formats[std::to_string(bits) + "bit"] = {WeightFormat::kAffine, lanner::DType::kBF16, bits, 64};
  for (const auto& [name, spec] : formats)
    for (const std::size_t rows : {1U, 4U, 16U})
      all["int8_linear_" + name + "_" + std::to_string(rows) + "rows"] = [=, spec = spec] {
        return int8_linear(spec, rows);
      };
  all["int8_linear_4bit_1rows_4streams"] = [spec = formats.at("4bit")] {
    return int8_linear(spec, 1, WeightStreams::kFour);
  };
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  const auto all = cases();
  if (count == 1)
    for (const auto& [name, make] : all) std::printf("%s\n", name.c_str());
  if (count != 3) return count == 1 ? 0 : 2;
  const auto found = all.find(arguments[1]);
  if (found == all.end()) return 2;
  const auto run = found->second();
  for (int i = 0; i < std::atoi(arguments[2]); ++i) run();
  return 0;
}
