// SPDX-License-Identifier: MIT
#include "quantize/quantize_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "io/checkpoint.h"
#include "kernels/linear/weight_element.h"
#include "kernels/quant_fixture.h"
#include "quantize/model_folder.h"

namespace lanner::quantize {
namespace {

namespace fs = std::filesystem;

QuantizeOptions options_for(const ModelFolder& model, const std::string& output = "out") {
  return {.input = model.path(),
          .output = model.path() / output,
          .format = {QuantMode::kAffine, 4, 64},
          .overrides = {}};
}

/// Quantizes `model` to its subfolder "out" and opens the result.
io::Checkpoint converted(const ModelFolder& model) {
  model.write();
  quantize_folder(options_for(model));
  return io::Checkpoint(model.path() / "out");
}

std::vector<float> source_floats(const ModelFolder& model, const std::string& name) {
  return test::floats_of(io::Checkpoint(model.path()).require(name));
}

bool has(const io::Checkpoint& checkpoint, std::string_view name) { return checkpoint.find(name) != nullptr; }

TEST_CASE("quantize: Gemma 4 gets MLX names, split experts, 8-bit routers and no unused tensors") {
  const ModelFolder model = gemma_folder();
  const io::Checkpoint out = converted(model);
  const std::string text = "language_model.model.";
  CHECK(out.require(text + "embed_tokens.weight").shape == Shape{96, 16});
  CHECK(out.require(text + "embed_tokens.scales").shape == Shape{96, 2});
  CHECK(out.require(text + "layers.0.experts.switch_glu.gate_proj.weight").shape == Shape{4, 32, 16});
  CHECK(out.require(text + "layers.0.experts.switch_glu.up_proj.scales").shape == Shape{4, 32, 2});
  CHECK(out.require(text + "layers.0.experts.switch_glu.down_proj.weight").shape == Shape{4, 128, 4});
  CHECK(out.require(text + "layers.0.router.proj.weight").shape == Shape{4, 32});
  CHECK(out.require(text + "layers.0.router.scale").dtype == DType::kBF16);
  CHECK(out.require(text + "layers.0.layer_scalar").dtype == DType::kBF16);
  CHECK(out.require(text + "per_layer_model_projection.weight").dtype == DType::kBF16);
  CHECK(has(out, text + "layers.0.self_attn.k_proj.scales"));
  CHECK(has(out, text + "layers.1.self_attn.q_proj.scales"));
  for (const std::string gone : {"k_proj.weight", "v_proj.weight", "k_proj.scales", "k_norm.weight"})
    CHECK_FALSE(has(out, text + "layers.1.self_attn." + gone));
  CHECK_FALSE(has(out, "language_model.lm_head.weight"));
  CHECK(out.require("vision_tower.encoder.layers.0.mlp.down_proj.linear.weight").dtype == DType::kBF16);
  CHECK(has(out, "vision_tower.encoder.layers.0.mlp.down_proj.input_min"));
  CHECK(out.require("embed_vision.embedding_projection.weight").shape == Shape{128, 64});

  const io::Json block = out.config()["quantization"];
  CHECK(block == out.config()["quantization_config"]);
  CHECK(block["bits"] == 4);
  CHECK(block["group_size"] == 64);
  CHECK(block["mode"] == "affine");
  CHECK(block[text + "layers.0.router.proj"] == io::Json{{"bits", 8}, {"group_size", 64}});
  CHECK(block[text + "layers.1.experts.switch_glu.down_proj"] == io::Json{{"bits", 4}, {"group_size", 32}});
  CHECK(block[text + "per_layer_model_projection"] == false);
  CHECK_FALSE(block.contains(text + "layers.0.self_attn.q_proj"));
}

TEST_CASE("quantize: split experts hold the quantized halves of the fused tensor") {
  const ModelFolder model = gemma_folder();
  const io::Checkpoint out = converted(model);
  const std::vector<float> fused = source_floats(model, "model.language_model.layers.0.experts.gate_up_proj");
  for (const std::size_t half : {0, 1}) {
    const std::string path = std::string("language_model.model.layers.0.experts.switch_glu.") +
                             (half == 0 ? "gate_proj" : "up_proj");
    const io::HeldTensor codes = io::load_tensor(out.require(path + ".weight"));
    const io::HeldTensor scales = io::load_tensor(out.require(path + ".scales"));
    const io::HeldTensor biases = io::load_tensor(out.require(path + ".biases"));
    const kernels::WeightView view{.spec = {kernels::WeightFormat::kAffine, DType::kBF16, 4, 64},
                                   .rows = 4 * 32,
                                   .columns = 128,
                                   .data = codes.tensor.data,
                                   .scales = scales.tensor.data,
                                   .biases = biases.tensor.data};
    double worst = 0;
    for (std::size_t row = 0; row < 4 * 32; ++row)
      for (std::size_t k = 0; k < 128; ++k) {
        const std::size_t source_row = row / 32 * 64 + half * 32 + row % 32;
        worst = std::max(
            worst, std::abs(double(kernels::weight_element(view, row, k)) - fused[source_row * 128 + k]));
      }
    CHECK(worst < 0.4);  // half a step of a group that spans about 6 standard deviations
  }
}

TEST_CASE("quantize: Qwen 3.5 gets final norms and convolutions, stacked experts and keeps MTP") {
  const ModelFolder model = qwen_folder();
  const io::Checkpoint out = converted(model);
  const std::string text = "language_model.model.";
  CHECK(out.require(text + "layers.0.linear_attn.conv1d.weight").shape == Shape{192, 4, 1});
  CHECK(out.require(text + "layers.0.linear_attn.A_log").dtype == DType::kF32);
  CHECK(out.require(text + "layers.0.linear_attn.norm.weight").dtype == DType::kBF16);
  CHECK(out.require(text + "layers.1.mlp.switch_mlp.up_proj.weight").shape == Shape{3, 64, 16});
  CHECK(out.require(text + "layers.1.mlp.gate.weight").shape == Shape{4, 32});
  CHECK(out.require(text + "layers.1.mlp.shared_expert_gate.weight").shape == Shape{1, 32});
  CHECK(has(out, "language_model.lm_head.scales"));
  CHECK(out.require("vision_tower.patch_embed.proj.weight").shape == Shape{8, 2, 4, 4, 3});
  CHECK(has(out, "mtp.fc.scales"));
  CHECK(out.require("mtp.layers.0.mlp.switch_mlp.gate_proj.weight").shape == Shape{2, 64, 16});
  CHECK(out.require("mtp.layers.0.mlp.switch_mlp.down_proj.weight").shape == Shape{2, 128, 8});

  const auto check_values = [&](const std::string& target, const std::string& source, float added) {
    CAPTURE(target);
    std::vector<float> want = source_floats(model, source);
    for (float& value : want) value = round_to_bf16(value + added);
    CHECK(test::floats_of(out.require(target)) == want);
  };
  check_values(text + "norm.weight", "model.language_model.norm.weight", 1);
  check_values(text + "layers.0.input_layernorm.weight",
               "model.language_model.layers.0.input_layernorm.weight", 1);
  check_values(text + "layers.1.self_attn.q_norm.weight",
               "model.language_model.layers.1.self_attn.q_norm.weight", 1);
  check_values("mtp.pre_fc_norm_hidden.weight", "mtp.pre_fc_norm_hidden.weight", 1);
  check_values(text + "layers.0.linear_attn.norm.weight",
               "model.language_model.layers.0.linear_attn.norm.weight", 0);
  check_values("vision_tower.blocks.0.norm1.weight", "model.visual.blocks.0.norm1.weight", 0);
  check_values(text + "layers.0.linear_attn.conv1d.weight",
               "model.language_model.layers.0.linear_attn.conv1d.weight", 0);
}

TEST_CASE("quantize: a source in MLX form keeps its norms, and quantizing it gives the same weights") {
  const ModelFolder raw = qwen_folder();
  raw.write();
  QuantizeOptions dense = options_for(raw, "dense");
  dense.overrides.push_back(parse_bit_override(".=none"));
  quantize_folder(dense);
  // An unquantized MLX folder has no quantization block.
  io::Json config = io::load_json(raw.path() / "dense" / "config.json");
  config.erase("quantization");
  config.erase("quantization_config");
  io::write_text_file(raw.path() / "dense" / "config.json", config.dump());

  quantize_folder(options_for(raw, "direct"));
  QuantizeOptions again = options_for(raw, "again");
  again.input = raw.path() / "dense";
  quantize_folder(again);
  const io::Checkpoint direct(raw.path() / "direct");
  const io::Checkpoint twice(raw.path() / "again");
  REQUIRE(direct.tensors().size() == twice.tensors().size());
  for (const io::TensorEntry& tensor : direct.tensors()) {
    CAPTURE(tensor.name);
    const io::TensorEntry& other = twice.require(tensor.name);
    CHECK(other.shape == tensor.shape);
    CHECK(std::ranges::equal(other.bytes, tensor.bytes));
  }
}

TEST_CASE("quantize: shards respect the limit, carry the index, and give the same tensors") {
  const ModelFolder model = gemma_folder();
  model.write();
  quantize_folder(options_for(model, "one"));
  QuantizeOptions sharded = options_for(model, "many");
  sharded.max_shard_bytes = 20'000;
  sharded.threads = 2;
  const QuantizeReport report = quantize_folder(sharded);
  CHECK(fs::exists(model.path() / "one" / "model.safetensors"));
  CHECK(fs::exists(model.path() / "one" / "model.safetensors.index.json"));
  const io::Checkpoint one(model.path() / "one");
  const io::Checkpoint many(model.path() / "many");
  CHECK(many.weight_files().size() > 3);
  CHECK(many.tensor_bytes() == report.output_bytes);
  REQUIRE(one.tensors().size() == many.tensors().size());
  for (const io::TensorEntry& tensor : one.tensors())
    CHECK(std::ranges::equal(tensor.bytes, many.require(tensor.name).bytes));
  for (const std::string& file : many.weight_files()) {
    const io::SafetensorsFile shard(model.path() / "many" / file);
    CHECK(shard.metadata().at("format") == "mlx");
  }
  const io::Json index = io::load_json(model.path() / "many" / "model.safetensors.index.json");
  CHECK(index["metadata"]["total_size"] == report.output_bytes);
}

TEST_CASE("quantize: tokenizer, template and cards are carried over, weights and hidden files are not") {
  const ModelFolder model = gemma_folder();
  model.write();
  for (const char* name : {"tokenizer.json", "chat_template.jinja", "generation_config.json", "LICENSE"})
    model.folder().write(name, name);
  model.folder().write("empty.txt", "");
  model.folder().write(".gitattributes", "x");
  model.folder().write("old.gguf", "x");
  model.folder().write("picture.png", "x");
  model.folder().write("mtp.safetensors", "kept as it is");
  model.folder().write("subfolder/file.txt", "x");
  quantize_folder(options_for(model));
  const fs::path out = model.path() / "out";
  CHECK(io::read_text_file(out / "tokenizer.json") == "tokenizer.json");
  for (const char* name :
       {"chat_template.jinja", "generation_config.json", "LICENSE", "empty.txt", "mtp.safetensors"})
    CHECK(fs::exists(out / name));
  for (const char* name : {".gitattributes", "old.gguf", "picture.png", "subfolder"})
    CHECK_FALSE(fs::exists(out / name));
}

TEST_CASE("quantize: fp modes and float dtypes are written with their own scales") {
  const ModelFolder model = gemma_folder();
  model.write();
  QuantizeOptions options = options_for(model);
  options.format = {QuantMode::kMxfp4, 4, 32};
  const QuantizeReport report = quantize_folder(options);
  const io::Checkpoint out(model.path() / "out");
  CHECK(out.require("language_model.model.embed_tokens.scales").dtype == DType::kU8);
  CHECK_FALSE(has(out, "language_model.model.embed_tokens.biases"));
  CHECK(out.config()["quantization"]["mode"] == "mxfp4");
  CHECK(out.config()["quantization"]["language_model.model.layers.0.router.proj"]["mode"] == "affine");
  CHECK(report.formats.at("mxfp4 4-bit group 32") > 0);
  CHECK(report.bits_per_weight() > 4.25);
}

TEST_CASE("quantize: progress covers the source and never runs backwards") {
  const ModelFolder model = qwen_folder();
  model.write();
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  quantize_folder(options_for(model), [&](const QuantizeProgress& progress) {
    CHECK(progress.done_bytes >= last);
    last = progress.done_bytes;
    total = progress.total_bytes;
  });
  CHECK(last == total);
  CHECK(total == io::Checkpoint(model.path()).tensor_bytes());
}

/// Only the source lies in the model's folder: no result and no temporary.
void check_nothing_left(const ModelFolder& model) {
  for (const fs::directory_entry& entry : fs::directory_iterator(model.path()))
    CHECK_FALSE(entry.is_directory());
}

TEST_CASE("quantize: NaN and infinity are refused by tensor and leave nothing behind") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()})
    for (const std::string name : {"layers.0.self_attn.q_proj.weight", "layers.0.input_layernorm.weight"}) {
      ModelFolder model = gemma_folder();
      const bool matrix = name.find("q_proj") != std::string::npos;
      std::vector<float> values(matrix ? 128 * 128 : 128, 0.5F);
      values[77] = bad;
      model.set("model.language_model." + name, matrix ? Shape{128, 128} : Shape{128}, values);
      model.write();
      const std::string message =
          io::error_of(ErrorKind::kCorrupt, [&] { quantize_folder(options_for(model)); });
      CHECK(message.find(name) != std::string::npos);
      CHECK(message.find("NaN") != std::string::npos);
      check_nothing_left(model);
    }
}

TEST_CASE("quantize: a quantized source, a foreign family and bad outputs are refused") {
  ModelFolder model = gemma_folder();
  model.write();
  const auto refuse = [&](ErrorKind kind, const QuantizeOptions& options, std::string_view part) {
    const std::string message = io::error_of(kind, [&] { quantize_folder(options); });
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  QuantizeOptions same = options_for(model);
  same.output = model.path();
  refuse(ErrorKind::kInvalidArgument, same, "is the input folder itself");
  same.output = model.path() / "config.json";
  refuse(ErrorKind::kInvalidArgument, same, "is a file");
  model.folder().write("full/keep.txt", "x");
  refuse(ErrorKind::kInvalidArgument, options_for(model, "full"), "is not empty");
  CHECK(io::read_text_file(model.path() / "full" / "keep.txt") == "x");
  QuantizeOptions unmatched = options_for(model);
  unmatched.overrides.push_back(parse_bit_override("no_such_module=8"));
  refuse(ErrorKind::kInvalidArgument, unmatched, "matches no module");

  quantize_folder(options_for(model));
  QuantizeOptions again = options_for(model, "again");
  again.input = model.path() / "out";
  refuse(ErrorKind::kUnsupported, again, "quantized already");
  // Also without its config block.
  model.config().erase("quantization");
  io::write_text_file(model.path() / "out" / "config.json", model.config().dump());
  refuse(ErrorKind::kUnsupported, again, "belongs to a quantized model");

  model.config()["model_type"] = "llama";
  model.write();
  refuse(ErrorKind::kUnsupported, options_for(model, "other"), "model_type is \"llama\"");
  CHECK_FALSE(fs::exists(model.path() / "other"));
}

TEST_CASE("quantize: missing experts and doubled names are named") {
  ModelFolder gap = qwen_folder();
  gap.remove("model.language_model.layers.1.mlp.experts.1.up_proj.weight");
  gap.write();
  CHECK(io::error_of(ErrorKind::kCorrupt, [&] { quantize_folder(options_for(gap)); }).find("missing") !=
        std::string::npos);
  ModelFolder doubled = gemma_folder();
  doubled.add("language_model.model.norm.weight", {128});
  doubled.write();
  CHECK(io::error_of(ErrorKind::kCorrupt, [&] { quantize_folder(options_for(doubled)); }).find("both") !=
        std::string::npos);
}

TEST_CASE("quantize: text-only folders keep the names mlx-lm expects of them") {
  ModelFolder gemma({{"model_type", "gemma4_text"}, {"num_hidden_layers", 1}});
  gemma.add("model.embed_tokens.weight", {96, 128});
  gemma.add("model.layers.0.mlp.up_proj.weight", {64, 128});
  CHECK(has(converted(gemma), "model.layers.0.mlp.up_proj.scales"));
  ModelFolder qwen({{"model_type", "qwen3_5_text"}, {"num_hidden_layers", 1}});
  qwen.add("model.embed_tokens.weight", {96, 128}, DType::kF32);
  qwen.add("model.layers.0.mlp.up_proj.weight", {64, 128}, DType::kF32);
  const io::Checkpoint out = converted(qwen);
  CHECK(out.require("language_model.model.layers.0.mlp.up_proj.scales").dtype == DType::kF32);
}

}  // namespace
}  // namespace lanner::quantize
