// SPDX-License-Identifier: MIT
// Usage: node write_gguf.mjs FOLDER OUT.gguf [q4_0|q4_1|q4_k]
// Writes a dense folder made by `lanner synth --bits 4` as GGUF, so that llama.cpp runs the same shapes with the same
// codes. q4_1 keeps scale and bias of every group (as two blocks of 32); q4_0 keeps the scale and takes 8 as zero,
// half a step off; q4_k keeps the codes, with the magnitudes of scale
// and bias rounded to its six bits. Source of names: llama.cpp v0.4.0, src/models/{qwen35,gemma4}.cpp.
import fs from "node:fs";
import path from "node:path";

const [folder, output, type = "q4_0"] = process.argv.slice(2);
if (!folder || !output || !["q4_0", "q4_1", "q4_k"].includes(type)) {
  console.error("usage: write_gguf.mjs FOLDER OUT.gguf [q4_0|q4_1|q4_k]");
  process.exit(2);
}

const kAlignment = 32;
const kTypes = { F32: 0, q4_0: 2, q4_1: 3, q4_k: 12, BF16: 30 };
const kBlockBytes = { q4_0: 18, q4_1: 20, q4_k: 144 };
const kBlockWeights = { q4_0: 32, q4_1: 32, q4_k: 256 };

const config = JSON.parse(fs.readFileSync(path.join(folder, "config.json"), "utf8"));
const text = config.text_config;
const gemma = config.model_type.startsWith("gemma4");

// ---- The folder's tensors.

function readTensors() {
  const tensors = new Map();
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith(".safetensors"))) {
    const descriptor = fs.openSync(path.join(folder, file), "r");
    const size = Buffer.alloc(8);
    fs.readSync(descriptor, size, 0, 8, 0);
    const length = Number(size.readBigUInt64LE());
    const header = Buffer.alloc(length);
    fs.readSync(descriptor, header, 0, length, 8);
    for (const [name, entry] of Object.entries(JSON.parse(header.toString("utf8")))) {
      if (name === "__metadata__") continue;
      const [begin, end] = entry.data_offsets;
      tensors.set(name, { ...entry, descriptor, position: 8 + length + begin, bytes: end - begin });
    }
  }
  return tensors;
}

function readBytes(tensor, begin = 0, bytes = tensor.bytes) {
  const buffer = Buffer.alloc(bytes);
  for (let done = 0; done < bytes; ) done += fs.readSync(tensor.descriptor, buffer, done, bytes - done, tensor.position + begin + done);
  return buffer;
}

function readFloats(tensor) {
  const raw = readBytes(tensor);
  const count = raw.length / (tensor.dtype === "F32" ? 4 : 2);
  const floats = new Float32Array(count);
  const words = new Uint32Array(floats.buffer);
  for (let i = 0; i < count; ++i)
    words[i] = tensor.dtype === "F32" ? raw.readUInt32LE(4 * i) : raw.readUInt16LE(2 * i) << 16;
  return floats;
}

const kFloat = new Float32Array(1);
const kWord = new Uint32Array(kFloat.buffer);
/** A float as IEEE half, rounded to nearest; values below its subnormals become 0. */
function toHalf(value) {
  kFloat[0] = value;
  const word = kWord[0];
  const sign = (word >>> 16) & 0x8000;
  const exponent = ((word >>> 23) & 0xff) - 112;
  const mantissa = word & 0x7fffff;
  if (exponent >= 31) return sign | 0x7c00;
  if (exponent > 0) return sign | (((exponent << 10) | (mantissa >>> 13)) + ((mantissa >>> 12) & 1));
  if (exponent < -10) return sign;
  const shifted = (mantissa | 0x800000) >>> (13 - exponent);
  return sign | ((shifted + 1) >>> 1);
}

// ---- Names and metadata of the two families.

const kLayerNames = gemma
  ? {
      "input_layernorm.weight": "attn_norm.weight",
      "self_attn.q_proj": "attn_q.weight",
      "self_attn.k_proj": "attn_k.weight",
      "self_attn.v_proj": "attn_v.weight",
      "self_attn.o_proj": "attn_output.weight",
      "self_attn.q_norm.weight": "attn_q_norm.weight",
      "self_attn.k_norm.weight": "attn_k_norm.weight",
      "post_attention_layernorm.weight": "post_attention_norm.weight",
      "pre_feedforward_layernorm.weight": "ffn_norm.weight",
      "post_feedforward_layernorm.weight": "post_ffw_norm.weight",
      "layer_scalar": "layer_output_scale.weight",
      "per_layer_input_gate": "inp_gate.weight",
      "per_layer_projection": "proj.weight",
      "post_per_layer_input_norm.weight": "post_norm.weight",
    }
  : {
      "input_layernorm.weight": "attn_norm.weight",
      "post_attention_layernorm.weight": "post_attention_norm.weight",
      "self_attn.q_proj": "attn_q.weight",
      "self_attn.k_proj": "attn_k.weight",
      "self_attn.v_proj": "attn_v.weight",
      "self_attn.o_proj": "attn_output.weight",
      "self_attn.q_norm.weight": "attn_q_norm.weight",
      "self_attn.k_norm.weight": "attn_k_norm.weight",
      "linear_attn.in_proj_qkv": "attn_qkv.weight",
      "linear_attn.in_proj_z": "attn_gate.weight",
      "linear_attn.in_proj_b": "ssm_beta.weight",
      "linear_attn.in_proj_a": "ssm_alpha.weight",
      "linear_attn.out_proj": "ssm_out.weight",
      "linear_attn.conv1d.weight": "ssm_conv1d.weight",
      "linear_attn.A_log": "ssm_a",
      "linear_attn.dt_bias": "ssm_dt.bias",
      "linear_attn.norm.weight": "ssm_norm.weight",
    };
Object.assign(kLayerNames, {
  "mlp.gate_proj": "ffn_gate.weight",
  "mlp.up_proj": "ffn_up.weight",
  "mlp.down_proj": "ffn_down.weight",
});
const kModelNames = {
  "embed_tokens": "token_embd.weight",
  "norm.weight": "output_norm.weight",
  "embed_tokens_per_layer": "per_layer_token_embd.weight",
  "per_layer_model_projection.weight": "per_layer_model_proj.weight",
  "per_layer_projection_norm.weight": "per_layer_proj_norm.weight",
};

function ggufName(path) {
  if (path === "language_model.lm_head") return "output.weight";
  const inner = path.replace("language_model.model.", "");
  const match = inner.match(/^layers\.(\d+)\.(.*)$/);
  const name = match ? kLayerNames[match[2]] && `blk.${match[1]}.${kLayerNames[match[2]]}` : kModelNames[inner];
  if (!name) throw new Error(`${path}: has no counterpart; only dense models are written`);
  return name;
}

const u32 = (value) => ({ type: 4, value });
const f32 = (value) => ({ type: 6, value });
const string = (value) => ({ type: 8, value });
const list = (type, values) => ({ type: 9, element: type, values });

function metadata() {
  const arch = gemma ? "gemma4" : "qwen35";
  const pairs = [
    ["general.architecture", string(arch)],
    ["general.name", string(`${path.basename(folder)} (synthetic)`)],
    ["general.quantization_version", u32(2)],
    ["tokenizer.ggml.model", string("none")],
  ];
  const add = (key, value) => pairs.push([`${arch}.${key}`, value]);
  add("vocab_size", u32(text.vocab_size));
  add("block_count", u32(text.num_hidden_layers));
  add("context_length", u32(text.max_position_embeddings));
  add("embedding_length", u32(text.hidden_size));
  add("attention.head_count", u32(text.num_attention_heads));
  add("attention.head_count_kv", u32(text.num_key_value_heads));
  add("attention.layer_norm_rms_epsilon", f32(text.rms_norm_eps));
  if (gemma) {
    const first = text.num_hidden_layers - text.num_kv_shared_layers;
    const widths = text.layer_types.map((_, i) => text.intermediate_size * (text.use_double_wide_mlp && i >= first ? 2 : 1));
    const swa = text.layer_types.map((kind) => (kind === "sliding_attention" ? 1 : 0));
    add("feed_forward_length", list(5, widths));
    add("attention.key_length", u32(text.global_head_dim));
    add("attention.value_length", u32(text.global_head_dim));
    add("attention.key_length_swa", u32(text.head_dim));
    add("attention.value_length_swa", u32(text.head_dim));
    add("attention.sliding_window", u32(text.sliding_window));
    add("attention.sliding_window_pattern", list(7, swa));
    add("attention.shared_kv_layers", u32(text.num_kv_shared_layers));
    add("embedding_length_per_layer_input", u32(text.hidden_size_per_layer_input));
    add("final_logit_softcapping", f32(text.final_logit_softcapping));
    add("rope.dimension_count", u32(text.global_head_dim));
    add("rope.dimension_count_swa", u32(text.head_dim));
    add("rope.freq_base", f32(text.rope_parameters.full_attention.rope_theta));
    add("rope.freq_base_swa", f32(text.rope_parameters.sliding_attention.rope_theta));
  } else {
    add("feed_forward_length", u32(text.intermediate_size));
    add("attention.key_length", u32(text.head_dim));
    add("attention.value_length", u32(text.head_dim));
    add("rope.dimension_count", u32(text.head_dim * text.partial_rotary_factor));
    add("rope.dimension_sections", list(5, [...text.rope_parameters.mrope_section, 0]));
    add("rope.freq_base", f32(text.rope_parameters.rope_theta));
    add("ssm.conv_kernel", u32(text.linear_conv_kernel_dim));
    add("ssm.inner_size", u32(text.linear_num_value_heads * text.linear_value_head_dim));
    add("ssm.state_size", u32(text.linear_key_head_dim));
    add("ssm.time_step_rank", u32(text.linear_num_value_heads));
    add("ssm.group_count", u32(text.linear_num_key_heads));
    add("full_attention_interval", u32(text.full_attention_interval));
  }
  return pairs;
}

// ---- What is written: name, dimensions (fastest first), type and a writer of the data.

const tensors = readTensors();

/** `blocks` blocks of 32 weights, of whole groups from `group` on, as q4_0 or, with biases, q4_1. */
function smallBlocks(source, blocks, group, scales, biases) {
  const out = Buffer.alloc(blocks * kBlockBytes[type]);
  let to = 0;
  for (let block = 0, from = 0; block < blocks; ++block, from += 16) {
    to = out.writeUInt16LE(toHalf(scales[group + (block >> 1)]), to);
    if (type === "q4_1") to = out.writeUInt16LE(toHalf(biases[group + (block >> 1)]), to);
    for (let i = 0; i < 8; ++i) {
      const low = source[from + i];
      const high = source[from + 8 + i];
      out[to++] = (low & 15) | ((high & 15) << 4);
      out[to++] = (low >> 4) | (high & 0xf0);
    }
  }
  return out;
}

const unsigned = (values, group) => [0, 1, 2, 3].map((i) => Math.abs(values[group + i]));

/** `blocks` blocks of 256 weights, four groups each, as q4_k: eight halves of groups with scales of six bits. */
function superBlocks(source, blocks, group, scales, biases) {
  const out = Buffer.alloc(blocks * kBlockBytes.q4_k);
  for (let block = 0; block < blocks; ++block) {
    const to = block * kBlockBytes.q4_k;
    const steps = [unsigned(scales, group + 4 * block), unsigned(biases, group + 4 * block)].map((values, side) => {
      const unit = Math.max(...values) / 63 || 1;
      out.writeUInt16LE(toHalf(unit), to + 2 * side);
      return values.flatMap((value) => [Math.round(value / unit), Math.round(value / unit)]);
    });
    for (let i = 0; i < 4; ++i) {
      const [scale, bias] = steps;
      out[to + 4 + i] = scale[i] | ((scale[4 + i] >> 4) << 6);
      out[to + 8 + i] = bias[i] | ((bias[4 + i] >> 4) << 6);
      out[to + 12 + i] = (scale[4 + i] & 15) | ((bias[4 + i] & 15) << 4);
    }
    for (let i = 0; i < 128; ++i) {
      const at = 128 * block + 32 * (i >> 5) + ((i & 31) >> 1);
      const shift = 4 * (i & 1);
      out[to + 16 + i] = ((source[at] >> shift) & 15) | (((source[at + 16] >> shift) & 15) << 4);
    }
  }
  return out;
}

/** Rows of 4-bit groups of 64 as blocks of the type, in pieces of at most about 64 MB. */
function* quantizedPieces(base, rows, columns) {
  const weight = tensors.get(`${base}.weight`);
  const scales = readFloats(tensors.get(`${base}.scales`));
  const biases = readFloats(tensors.get(`${base}.biases`));
  const rowBytes = columns / 2;
  const rowsAtOnce = Math.max(1, Math.floor((64 << 20) / rowBytes));
  const perRow = columns / kBlockWeights[type];
  for (let row = 0; row < rows; row += rowsAtOnce) {
    const count = Math.min(rowsAtOnce, rows - row);
    const source = readBytes(weight, row * rowBytes, count * rowBytes);
    yield (type === "q4_k" ? superBlocks : smallBlocks)(source, count * perRow, row * (columns / 64), scales, biases);
  }
}

function plan() {
  const items = [];
  for (const [name, tensor] of tensors) {
    if (name.startsWith("mtp.") || name.endsWith(".scales") || name.endsWith(".biases")) continue;
    const base = name.replace(/\.weight$/, "");
    if (tensors.has(`${base}.scales`)) {
      const [rows, groups] = tensors.get(`${base}.scales`).shape;
      const columns = groups * 64;
      if (tensor.shape[1] * 8 !== columns || columns % kBlockWeights[type] !== 0) throw new Error(`${name}: is not 4 bits in groups of 64`);
      items.push({
        name: ggufName(base),
        dims: [columns, rows],
        type,
        bytes: ((rows * columns) / kBlockWeights[type]) * kBlockBytes[type],
        pieces: () => quantizedPieces(base, rows, columns),
      });
    } else if (name.endsWith("per_layer_model_projection.weight")) {
      items.push({ name: ggufName(name), dims: [...tensor.shape].reverse(), type: "BF16", bytes: tensor.bytes, pieces: () => [readBytes(tensor)] });
    } else {
      const floats = readFloats(tensor);
      if (name.endsWith("A_log")) for (let i = 0; i < floats.length; ++i) floats[i] = -Math.exp(floats[i]);
      const dims = name.endsWith("conv1d.weight") ? [tensor.shape[1], tensor.shape[0]] : [...tensor.shape].reverse();
      items.push({ name: ggufName(name), dims, type: "F32", bytes: 4 * floats.length, pieces: () => [Buffer.from(floats.buffer)] });
    }
  }
  if (gemma) {
    // The first quarter of the pairs turns, the others stand still.
    const factors = new Float32Array(text.global_head_dim / 2).map((_, i) => (i < text.global_head_dim / 8 ? 1 : 1e30));
    items.push({ name: "rope_freqs.weight", dims: [factors.length], type: "F32", bytes: 4 * factors.length, pieces: () => [Buffer.from(factors.buffer)] });
  }
  return items;
}

// ---- The file.

class Writer {
  constructor(file) {
    this.descriptor = fs.openSync(file, "w");
    this.size = 0;
  }
  bytes(buffer) {
    for (let done = 0; done < buffer.length; ) done += fs.writeSync(this.descriptor, buffer, done);
    this.size += buffer.length;
  }
  number(method, bytes, value) {
    const buffer = Buffer.alloc(bytes);
    buffer[method](value);
    this.bytes(buffer);
  }
  u32(value) { this.number("writeUInt32LE", 4, value); }
  u64(value) { this.number("writeBigUInt64LE", 8, BigInt(value)); }
  string(value) {
    this.u64(Buffer.byteLength(value));
    this.bytes(Buffer.from(value));
  }
  value(kind, value) {
    if (kind === 4) this.u32(value);
    if (kind === 5) this.number("writeInt32LE", 4, value);
    if (kind === 6) this.number("writeFloatLE", 4, value);
    if (kind === 7) this.number("writeUInt8", 1, value);
    if (kind === 8) this.string(value);
  }
  pad() { this.bytes(Buffer.alloc((kAlignment - (this.size % kAlignment)) % kAlignment)); }
}

const items = plan();
const pairs = metadata();
const writer = new Writer(output);
writer.bytes(Buffer.from("GGUF"));
writer.u32(3);
writer.u64(items.length);
writer.u64(pairs.length);
for (const [key, entry] of pairs) {
  writer.string(key);
  writer.u32(entry.type);
  if (entry.type !== 9) {
    writer.value(entry.type, entry.value);
    continue;
  }
  writer.u32(entry.element);
  writer.u64(entry.values.length);
  for (const value of entry.values) writer.value(entry.element, value);
}
let offset = 0;
for (const item of items) {
  writer.string(item.name);
  writer.u32(item.dims.length);
  for (const extent of item.dims) writer.u64(extent);
  writer.u32(kTypes[item.type]);
  writer.u64(offset);
  offset += Math.ceil(item.bytes / kAlignment) * kAlignment;
}
writer.pad();
for (const item of items) {
  for (const piece of item.pieces()) writer.bytes(piece);
  writer.pad();
}
fs.closeSync(writer.descriptor);
console.log(`${output}: ${items.length} tensors, ${(writer.size / 1e9).toFixed(2)} GB`);
