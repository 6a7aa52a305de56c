// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/float_convert.h"
#include "io/json.h"
#include "io/safetensors_writer.h"
#include "io/temporary_folder.h"
#include "quantize/float_elements.h"
#include "random.h"

namespace lanner::quantize {

/// A small checkpoint folder put together tensor by tensor.
class ModelFolder {
 public:
  explicit ModelFolder(io::Json config) : config_(std::move(config)) {}

  io::Json& config() { return config_; }
  const std::filesystem::path& path() const { return folder_->path(); }
  const io::TemporaryFolder& folder() const { return *folder_; }

  /// A tensor of random normal values, different for each name.
  void add(const std::string& name, const Shape& shape, DType dtype = DType::kBF16) {
    const auto count = static_cast<std::size_t>(shape.element_count());
    set(name, shape, test::random_normal(count, std::hash<std::string>{}(name)), dtype);
  }
  void set(const std::string& name, const Shape& shape, const std::vector<float>& values,
           DType dtype = DType::kBF16) {
    std::vector<std::byte> bytes(values.size() * size_bytes(dtype));
    for (std::size_t i = 0; i < values.size(); ++i) store_float(bytes.data(), i, values[i], dtype);
    tensors_[name] = {{name, dtype, shape}, std::move(bytes)};
  }
  void remove(const std::string& name) { tensors_.erase(name); }

  /// Writes config.json and model.safetensors.
  void write(std::string_view file = "model.safetensors") const {
    folder_->write("config.json", config_.dump());
    std::vector<io::TensorDeclaration> declarations;
    for (const auto& [name, tensor] : tensors_) declarations.push_back(tensor.declaration);
    io::SafetensorsWriter writer(path() / file, declarations, {{"format", "pt"}});
    for (const auto& [name, tensor] : tensors_) writer.append(name, tensor.bytes);
    writer.finish();
  }

 private:
  struct Stored {
    io::TensorDeclaration declaration;
    std::vector<std::byte> bytes;
  };
  std::unique_ptr<io::TemporaryFolder> folder_ = std::make_unique<io::TemporaryFolder>();
  io::Json config_;
  std::map<std::string, Stored> tensors_;
};

/// Gemma 4 with two layers, the second sharing the first's keys and values, and experts.
inline ModelFolder gemma_folder() {
  ModelFolder model({{"model_type", "gemma4"},
                     {"text_config", {{"num_hidden_layers", 2}, {"num_kv_shared_layers", 1}}},
                     {"vision_config", io::Json::object()}});
  const std::string text = "model.language_model.";
  model.add(text + "embed_tokens.weight", {96, 128});
  model.add(text + "norm.weight", {128});
  model.add(text + "per_layer_model_projection.weight", {64, 128});
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    for (const std::string name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      model.add(text + layer + "self_attn." + name + ".weight", {128, 128});
    model.add(text + layer + "self_attn.k_norm.weight", {64});
    model.add(text + layer + "input_layernorm.weight", {128});
    model.add(text + layer + "layer_scalar", {1});
    model.add(text + layer + "router.proj.weight", {4, 128});
    model.add(text + layer + "router.scale", {128});
    model.add(text + layer + "experts.gate_up_proj", {4, 64, 128});
    model.add(text + layer + "experts.down_proj", {4, 128, 32});
  }
  model.add("lm_head.weight", {96, 128});
  model.add("model.vision_tower.encoder.layers.0.mlp.down_proj.linear.weight", {64, 72});
  model.add("model.vision_tower.encoder.layers.0.mlp.down_proj.input_min", {});
  model.add("model.audio_tower.subsample_conv_projection.layer1.conv.weight", {4, 6, 3, 3});
  model.add("model.embed_vision.embedding_projection.weight", {128, 64});
  return model;
}

/// Qwen 3.5 with a delta-net layer, an attention layer, single experts, vision and MTP.
inline ModelFolder qwen_folder() {
  ModelFolder model({{"model_type", "qwen3_5_moe"},
                     {"text_config", {{"num_hidden_layers", 2}, {"tie_word_embeddings", false}}},
                     {"vision_config", {{"in_channels", 3}}}});
  const std::string text = "model.language_model.";
  model.add(text + "embed_tokens.weight", {96, 128});
  model.add(text + "norm.weight", {128});
  model.add("lm_head.weight", {96, 128});
  model.add(text + "layers.0.linear_attn.in_proj_qkv.weight", {192, 128});
  model.add(text + "layers.0.linear_attn.conv1d.weight", {192, 1, 4});
  model.add(text + "layers.0.linear_attn.A_log", {4}, DType::kF32);
  model.add(text + "layers.0.linear_attn.dt_bias", {4});
  model.add(text + "layers.0.linear_attn.norm.weight", {32}, DType::kF32);
  model.add(text + "layers.0.input_layernorm.weight", {128});
  model.add(text + "layers.1.self_attn.q_proj.weight", {128, 128});
  model.add(text + "layers.1.self_attn.q_norm.weight", {32});
  model.add(text + "layers.1.mlp.gate.weight", {4, 128});
  model.add(text + "layers.1.mlp.shared_expert_gate.weight", {1, 128});
  for (int expert = 0; expert < 3; ++expert) {
    const std::string path = text + "layers.1.mlp.experts." + std::to_string(expert) + ".";
    model.add(path + "gate_proj.weight", {64, 128});
    model.add(path + "up_proj.weight", {64, 128});
    model.add(path + "down_proj.weight", {128, 64});
  }
  model.add("model.visual.patch_embed.proj.weight", {8, 3, 2, 4, 4});
  model.add("model.visual.blocks.0.norm1.weight", {16});
  model.add("mtp.fc.weight", {128, 256});
  model.add("mtp.pre_fc_norm_hidden.weight", {128});
  model.add("mtp.layers.0.mlp.experts.gate_up_proj", {2, 128, 128});
  model.add("mtp.layers.0.mlp.experts.down_proj", {2, 128, 64});
  return model;
}

}  // namespace lanner::quantize
