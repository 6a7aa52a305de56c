// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <ctime>
#include <map>
#include <random>
#include <thread>

#include "text/tokenizer_oracle.h"
#include "text/unicode.h"

namespace lanner::text::test {
namespace {

/// BPE as the textbook has it: again and again the leftmost pair of the lowest rank, over the whole piece.
class TextbookBpe {
 public:
  explicit TextbookBpe(const std::string& folder) {
    const io::Json file = io::load_json(std::string(LANNER_MODELS_DIR) + "/" + folder + "/tokenizer.json");
    for (const io::Json& merge : file["model"]["merges"])
      ranks_.try_emplace({merge[0], merge[1]}, ranks_.size());
  }
  std::vector<std::string> encode(std::string_view piece) const {
    std::vector<std::string> symbols;
    for (std::size_t position = 0, begin = 0; position < piece.size(); begin = position) {
      next_code_point(piece, position);
      symbols.emplace_back(piece.substr(begin, position - begin));
    }
    while (merge_best(symbols)) continue;
    return symbols;
  }

 private:
  bool merge_best(std::vector<std::string>& symbols) const {
    std::size_t best = symbols.size(), best_rank = ranks_.size();
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto rank = ranks_.find({symbols[i], symbols[i + 1]});
      if (rank == ranks_.end() || rank->second >= best_rank) continue;
      best = i;
      best_rank = rank->second;
    }
    if (best == symbols.size()) return false;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    return true;
  }

  std::map<std::pair<std::string, std::string>, std::size_t> ranks_;
};

std::string random_word(std::mt19937& random, std::string_view letters, std::size_t size) {
  std::string word;
  while (word.size() < size) word += letters[random() % letters.size()];
  return word;
}

std::string repeated(std::string_view unit, std::size_t size) {
  std::string text;
  while (text.size() < size) text += unit;
  return text;
}

/// Of this process; other programs do not count. Quadratic work would take hours.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("tokenizer: words of every length are merged as the textbook says") {
  std::mt19937 random(2);
  for (const Oracle& oracle : tale_oracles()) {
    CAPTURE(oracle.name);
    const TextbookBpe textbook(oracle.name);
    for (std::size_t size : {1, 2, 3, 5, 8, 13, 40, 47, 48, 49, 50, 100, 700}) {
      for (std::string_view letters : {"abcdefghijklmnopqrstuvwxyz", "eiths", "aeh", "nn"}) {
        const std::string word = random_word(random, letters, size);
        CAPTURE(word);
        std::vector<std::string> tokens;
        for (TokenId id : oracle.tokenizer.encode(word)) tokens.push_back(oracle.tokenizer.token_text(id));
        CHECK(tokens == textbook.encode(word));
      }
    }
  }
}

TEST_CASE("tokenizer: text of many words is merged as if it were one (Gemma has no word boundaries)") {
  std::mt19937 random(3);
  const Oracle gemma = std::move(tale_oracles().front());
  const TextbookBpe textbook("tale-gemma4");
  for (int round = 0; round < 20; ++round) {
    const std::string text = random_word(random, "etaoins ,.\n", 300);
    std::string normalized;
    for (char c : text) normalized += c == ' ' ? std::string("▁") : std::string(1, c);
    std::vector<std::string> tokens;
    for (TokenId id : gemma.tokenizer.encode(text)) tokens.push_back(gemma.tokenizer.token_text(id));
    CHECK(tokens == textbook.encode(normalized));
  }
}

TEST_CASE("tokenizer: a megabyte without a word boundary takes no recursion and no quadratic time") {
  std::mt19937 random(4);
  const std::vector<std::string> texts = {
      std::string(1 << 20, 'Z'),
      std::string(1 << 20, '.'),
      std::string(1 << 20, ' '),
      std::string(1 << 20, '\n'),
      repeated("漢", 1 << 20),
      repeated(" \n", 1 << 20),
      repeated("<|im_st", 1 << 20),
      random_word(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 1 << 20)};
  for (const Oracle& oracle : tale_oracles()) {
    for (const std::string& text : texts) {
      CAPTURE(text.substr(0, 16));
      const double start = processor_seconds();
      CHECK(oracle.tokenizer.decode(oracle.tokenizer.encode(text)) == text);
      CHECK(processor_seconds() - start < 20);
    }
  }
}

TEST_CASE("tokenizer: a megabyte of combining marks in wrong order is normalized in good time") {
  const Oracle qwen = std::move(tale_oracles().back());
  const std::string text = "a" + repeated("\u0301\u0316", 1 << 20);
  const double start = processor_seconds();
  const std::string decoded = qwen.tokenizer.decode(qwen.tokenizer.encode(text));
  CHECK(processor_seconds() - start < 20);
  CHECK(decoded.starts_with("á\u0316\u0316"));
}

TEST_CASE("tokenizer: many threads may share one") {
  for (const Oracle& oracle : tale_oracles()) {
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        for (const io::Json& answer : oracle.answers["cases"]) {
          wrong[t] += oracle.tokenizer.encode(answer["text"].get<std::string>()) != ids_of(answer);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(4, 0));
  }
}

TEST_CASE(
    "tokenizer: words seen before get the same ids as new ones, also when the memory of words is full") {
  std::mt19937 random(5);
  const Oracle qwen = std::move(tale_oracles().back());
  std::string text;
  std::vector<TokenId> want;
  for (int i = 0; i < 60000; ++i) {
    const std::string word = " " + random_word(random, "abcdefghijklmnop", 4 + random() % 2);
    const std::vector<TokenId> ids = qwen.tokenizer.encode(word);
    want.insert(want.end(), ids.begin(), ids.end());
    text += word;
  }
  CHECK(qwen.tokenizer.encode(text) == want);
}

}  // namespace lanner::text::test
