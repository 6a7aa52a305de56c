// SPDX-License-Identifier: MIT
#include "quantize/mlx_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>

#include "core/error.h"
#include "io/message_text.h"
#include "quantize/source_naming.h"

namespace lanner::quantize {
namespace {

std::unique_ptr<SourceNaming> find_naming(const io::Checkpoint& checkpoint) {
  const std::string type = checkpoint.config_fields().required_string("model_type");
  static const std::set<std::string, std::less<>> kGemma = {"gemma4", "gemma4_text", "gemma4_unified",
                                                            "gemma4_unified_text"};
  static const std::set<std::string, std::less<>> kQwen = {"qwen3_5", "qwen3_5_text", "qwen3_5_moe",
                                                           "qwen3_5_moe_text"};
  if (kGemma.contains(type)) return std::make_unique<Gemma4Naming>(checkpoint);
  if (kQwen.contains(type)) return std::make_unique<Qwen35Naming>(checkpoint);
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("config.json: model_type is {}, expected a Gemma 4 (gemma4, gemma4_unified) or Qwen 3.5 "
                  "(qwen3_5, qwen3_5_moe) language model",
                  io::in_quotes(type)));
}

/// "P.experts.7.gate_proj.weight" → stack "P", expert 7, "gate_proj.weight".
struct SingleExpert {
  std::string stack;
  std::size_t expert = 0;
  std::string rest;
};

std::optional<SingleExpert> parse_single_expert(std::string_view name) {
  constexpr std::string_view kExperts = ".experts.";
  const std::size_t at = name.find(kExperts);
  if (at == std::string_view::npos) return std::nullopt;
  const char* begin = name.data() + at + kExperts.size();
  const char* end = name.data() + name.size();
  std::size_t expert = 0;
  const auto [stop, error] = std::from_chars(begin, end, expert);
  if (error != std::errc() || stop == end || *stop != '.') return std::nullopt;
  return SingleExpert{std::string(name.substr(0, at)), expert, std::string(stop + 1, end)};
}

class Mapper {
 public:
  Mapper(const io::Checkpoint& checkpoint, const SourceNaming& naming)
      : checkpoint_(checkpoint), naming_(naming) {}

  std::vector<TargetTensor> map() {
    for (const io::TensorEntry& tensor : checkpoint_.tensors())
      if (const std::optional<MlxName> name = naming_.rename(tensor.name)) add(tensor, *name);
    for (const auto& [name, experts] : stacks_) add_stack(name, experts);
    std::ranges::sort(targets_, {}, &TargetTensor::name);
    for (std::size_t i = 1; i < targets_.size(); ++i)
      if (targets_[i].name == targets_[i - 1].name)
        throw io::tensor_error(
            *targets_[i].source,
            fmt::format("and tensor {} are both {} in MLX's naming; the folder mixes two models",
                        io::in_quotes(targets_[i - 1].source->name), io::in_quotes(targets_[i].name)));
    return std::move(targets_);
  }

 private:
  struct Stack {
    std::map<std::size_t, const io::TensorEntry*> experts;
    Part part = Part::kText;
  };

  void add(const io::TensorEntry& tensor, const MlxName& name) {
    if (name.part != Part::kTower) {
      if (const std::optional<SingleExpert> single = parse_single_expert(name.name)) {
        Stack& stack =
            stacks_[fmt::format("{}.{}.{}", single->stack, naming_.experts_module(), single->rest)];
        stack.experts[single->expert] = &tensor;
        stack.part = name.part;
        return;
      }
      for (const std::string_view ending : {"", ".weight"}) {
        if (const auto path = before(name.name, fmt::format(".experts.gate_up_proj{}", ending)))
          return add_gate_up(tensor, *path, name.part);
        if (const auto path = before(name.name, fmt::format(".experts.down_proj{}", ending)))
          return add_whole(tensor, {experts_path(*path, "down_proj"), name.part});
      }
    }
    add_whole(tensor, name);
  }

  static std::optional<std::string_view> before(std::string_view name, std::string_view ending) {
    if (!name.ends_with(ending)) return std::nullopt;
    return name.substr(0, name.size() - ending.size());
  }

  std::string experts_path(std::string_view path, std::string_view projection) const {
    return fmt::format("{}.{}.{}.weight", path, naming_.experts_module(), projection);
  }

  void add_whole(const io::TensorEntry& tensor, const MlxName& name) {
    const Change change = naming_.change(name, tensor.shape);
    targets_.push_back({.name = name.name,
                        .shape = change == Change::kChannelsLast ? channels_last(tensor.shape) : tensor.shape,
                        .part = name.part,
                        .change = change,
                        .source = &tensor,
                        .pieces = {tensor.bytes}});
  }

  static Shape channels_last(const Shape& shape) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    std::rotate(extents.begin() + 1, extents.begin() + 2, extents.end());
    return Shape(extents);
  }

  /// [E, 2I, H] with the gate in the first half of each expert's rows.
  void add_gate_up(const io::TensorEntry& tensor, std::string_view path, Part part) {
    if (tensor.shape.rank() != 3 || tensor.shape[1] % 2 != 0)
      throw io::tensor_error(tensor, fmt::format("has shape {}, expected [experts, 2 * width, hidden]",
                                                 lanner::to_string(tensor.shape)));
    const auto experts = static_cast<std::size_t>(tensor.shape[0]);
    const std::size_t half = experts == 0 ? 0 : tensor.bytes.size() / experts / 2;
    const Shape shape{tensor.shape[0], tensor.shape[1] / 2, tensor.shape[2]};
    for (std::size_t i = 0; i < 2; ++i) {
      TargetTensor target{.name = experts_path(path, i == 0 ? "gate_proj" : "up_proj"),
                          .shape = shape,
                          .part = part,
                          .source = &tensor,
                          .pieces = {}};
      for (std::size_t e = 0; e < experts; ++e)
        target.pieces.push_back(tensor.bytes.subspan((2 * e + i) * half, half));
      targets_.push_back(std::move(target));
    }
  }

  void add_stack(const std::string& name, const Stack& stack) {
    const io::TensorEntry& first = *stack.experts.begin()->second;
    if (stack.experts.rbegin()->first + 1 != stack.experts.size())
      throw io::tensor_error(first, fmt::format("is one of {} experts numbered up to {}: some are missing",
                                                stack.experts.size(), stack.experts.rbegin()->first));
    std::vector<std::int64_t> extents = {static_cast<std::int64_t>(stack.experts.size())};
    extents.insert(extents.end(), first.shape.extents().begin(), first.shape.extents().end());
    TargetTensor target{
        .name = name, .shape = Shape(extents), .part = stack.part, .source = &first, .pieces = {}};
    for (const auto& [index, tensor] : stack.experts) {
      if (tensor->dtype != first.dtype)
        throw io::tensor_error(*tensor, fmt::format("is {}, but other experts are {}",
                                                    lanner::name(tensor->dtype), lanner::name(first.dtype)));
      io::expect_shape(*tensor, first.shape, "the shape of the first expert");
      target.pieces.push_back(tensor->bytes);
    }
    targets_.push_back(std::move(target));
  }

  const io::Checkpoint& checkpoint_;
  const SourceNaming& naming_;
  std::vector<TargetTensor> targets_;
  std::map<std::string, Stack> stacks_;
};

}  // namespace

std::vector<TargetTensor> map_to_mlx(const io::Checkpoint& checkpoint) {
  const std::unique_ptr<SourceNaming> naming = find_naming(checkpoint);
  return Mapper(checkpoint, *naming).map();
}

}  // namespace lanner::quantize
