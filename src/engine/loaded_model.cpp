// SPDX-License-Identifier: MIT
#include "engine/loaded_model.h"

#include <fmt/format.h>

#include "core/error.h"
#include "models/model_registry.h"

namespace lanner::engine {
namespace {

constexpr std::string_view kGemmaBos = "<bos>";

text::Tokenizer load_tokenizer(const io::Checkpoint& checkpoint) {
  return text::Tokenizer::load(checkpoint.require_file("tokenizer.json", "to turn text into tokens"),
                               checkpoint.find_file("tokenizer_config.json"));
}

}  // namespace

LoadedModel::LoadedModel(const std::filesystem::path& folder, Isa isa)
    : checkpoint_(folder),
      ops_(device::cpu_ops(isa)),
      model_(models::load_model(checkpoint_, ops_)),
      tokenizer_(load_tokenizer(checkpoint_)),
      chat_template_(text::ChatTemplate::find(folder)),
      defaults_(read_generation_defaults(checkpoint_, tokenizer_)) {}

const text::ChatTemplate& LoadedModel::chat_template() const {
  if (!chat_template_)
    throw Error(
        ErrorKind::kNotFound,
        fmt::format("{}: no chat template (chat_template.jinja, or chat_template in tokenizer_config.json); "
                    "use a prompt without template (--raw)",
                    checkpoint_.folder().string()));
  return *chat_template_;
}

std::vector<TokenId> LoadedModel::encode_plain(std::string_view text) const {
  std::vector<TokenId> ids = tokenizer_.encode(text);
  const auto bos = tokenizer_.token_id(kGemmaBos);
  if (bos && (ids.empty() || ids.front() != *bos)) ids.insert(ids.begin(), *bos);
  return ids;
}

std::vector<TokenId> LoadedModel::encode_chat(std::string_view rendered) const {
  std::vector<TokenId> ids = tokenizer_.encode(rendered);
  const auto bos = tokenizer_.token_id(kGemmaBos);
  if (bos && ids.size() > 1 && ids[0] == *bos && ids[1] == *bos) ids.erase(ids.begin());
  return ids;
}

}  // namespace lanner::engine
