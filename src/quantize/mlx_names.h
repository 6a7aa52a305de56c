// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "io/checkpoint.h"
#include "quantize/target_tensor.h"

namespace lanner::quantize {

/// The tensors that mlx-lm and mlx-vlm expect for a Gemma 4 or Qwen 3.5 checkpoint, from a folder under
/// Hugging Face or MLX names, sorted by name: text under language_model.model. (Gemma's text-only folders:
/// model.), towers under vision_tower. and the like, MTP under mtp.; fused or single experts as stacked
/// switch_glu (Gemma) or switch_mlp (Qwen) projections; convolutions channels-last; Qwen norm gains, also
/// those of the MTP head, with their 1 added when the source is in raw form. Left out: rotary_emb buffers,
/// the head of a tied model, k and v of Gemma layers that share another layer's. Throws Error kUnsupported
/// for other families and kCorrupt for contradictions. The checkpoint must outlive the result.
std::vector<TargetTensor> map_to_mlx(const io::Checkpoint& checkpoint);

}  // namespace lanner::quantize
