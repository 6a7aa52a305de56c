// SPDX-License-Identifier: MIT
// Rows with adapters: against the same model with b a added to its weights, and bit for bit among others.
#include <doctest/doctest.h>

#include <cstring>

#include "adapter_recipe.h"
#include "io/checkpoint.h"
#include "io/temporary_folder.h"
#include "models/adapter.h"
#include "models/fixture_case.h"

namespace lanner::test {
namespace {

namespace fs = std::filesystem;

std::vector<TokenId> random_ids(std::size_t count, std::uint64_t seed) {
  std::vector<TokenId> ids;
  for (float value : random_uniform(count, seed, 3, 300)) ids.push_back(static_cast<TokenId>(value));
  return ids;
}

std::vector<float> floats_of(const io::TensorEntry& entry) {
  std::vector<float> values(static_cast<std::size_t>(entry.shape.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    if (entry.dtype == DType::kF32)
      std::memcpy(&values[i], entry.bytes.data() + 4 * i, 4);
    else
      std::memcpy(&bits, entry.bytes.data() + 2 * i, 2), values[i] = bf16_to_float(bits);
  }
  return values;
}

/// Copies a checkpoint with scale * b a added to the targets' weights, in float, rounded once.
void write_merged(const fs::path& base, const fs::path& to, const AdapterRecipe& recipe,
                  const std::vector<layers::LinearTarget>& targets) {
  const io::Checkpoint checkpoint(base);
  std::map<std::string, std::pair<Shape, std::vector<float>>> tensors;
  std::size_t merged = 0;
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    auto& [shape, values] = tensors[entry.name];
    shape = entry.shape;
    values = floats_of(entry);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const layers::LinearTarget& target = targets[i];
      if (!entry.name.ends_with("." + target.path + ".weight") || entry.name.starts_with("mtp.") ||
          !recipe.wants(target))
        continue;
      ++merged;
      const auto [a, b] = random_factors(recipe, target, i);
      for (std::size_t row = 0; row < target.out; ++row)
        for (std::size_t column = 0; column < target.in; ++column) {
          double sum = 0;
          for (std::size_t r = 0; r < recipe.rank; ++r)
            sum += double(b[row * recipe.rank + r]) * a[r * target.in + column];
          float& value = values[row * target.in + column];
          value = static_cast<float>(value + recipe.alpha / static_cast<double>(recipe.rank) * sum);
        }
    }
  }
  CHECK(merged == static_cast<std::size_t>(std::ranges::count_if(targets, recipe.wants)));
  fs::create_directories(to);
  fs::copy_file(base / "config.json", to / "config.json");
  write_tensors(to / "model.safetensors", tensors);
}

std::vector<fs::path> tested_models() {
  std::vector<fs::path> folders;
  for (const char* name :
       {"gemma4/g1_e_ple_kvshare", "gemma4/g3_moe", "qwen3_5/q2_dense_grouped_untied", "qwen3_5/q3_moe"})
    folders.push_back(fs::path(LANNER_GOLDEN_DIR) / "models" / name);
  return folders;
}

/// A random adapter, mounted.
struct Mounted {
  io::TemporaryFolder folder;
  models::Adapter adapter;

  Mounted(const AdapterRecipe& recipe, const Runner& runner) {
    write_adapter(folder.path(), recipe, runner.model().facts().targets);
    adapter = models::read_adapter(folder.path(), runner.model(), runner.ops());
  }
  layers::LoraUse use(float strength = 1) const { return {adapter.weights, strength}; }
};

std::vector<float> prompt_logits(Runner& runner, std::span<const TokenId> ids) {
  cache::SequenceCache cache = runner.new_cache();
  return runner.logits(cache, ids);
}

}  // namespace

TEST_CASE("an adapter on every linear gives the logits of the model it is merged into") {
  for (const fs::path& folder : tested_models())
    for (AdapterForm form : {AdapterForm::kPeft, AdapterForm::kMlx}) {
      CAPTURE(folder.filename().string());
      Runner runner(folder, tested_ops().back(), 2);
      const AdapterRecipe recipe{.form = form};
      const std::vector<layers::LinearTarget>& targets = runner.model().facts().targets;
      const io::TemporaryFolder merged;
      write_merged(folder, merged.path() / "model", recipe, targets);
      Runner dense(merged.path() / "model", tested_ops().back(), 2);
      const auto ids = random_ids(90, 5);
      const std::vector<float> base = prompt_logits(runner, ids);
      const std::vector<float> want = prompt_logits(dense, ids);

      const Mounted mounted(recipe, runner);
      const layers::LoraSet set({mounted.use()});
      runner.use(&set);
      const std::vector<float> got = prompt_logits(runner, ids);
      CHECK(rms_relative(got, want) < 2e-5);   // float sums in another order, through all layers
      CHECK(rms_relative(base, want) > 0.05);  // the adapter is visible
    }
}

TEST_CASE("an adapter of any one kind of linear is that of the merged model") {
  for (const fs::path& folder : tested_models()) {
    CAPTURE(folder.filename().string());
    Runner runner(folder, tested_ops().back(), 1);
    const std::vector<layers::LinearTarget>& targets = runner.model().facts().targets;
    std::set<std::string> kinds;
    for (const auto& target : targets) kinds.insert(target.path.substr(target.path.find('.', 7) + 1));
    const auto ids = random_ids(20, 6);
    runner.use(nullptr);
    const std::vector<float> base = prompt_logits(runner, ids);
    for (const std::string& kind : kinds) {
      CAPTURE(kind);
      AdapterRecipe recipe{.strength = 0.3F};
      recipe.wants = [&](const layers::LinearTarget& target) { return target.path.ends_with("." + kind); };
      const io::TemporaryFolder merged;
      write_merged(folder, merged.path() / "model", recipe, targets);
      Runner dense(merged.path() / "model", tested_ops().back(), 1);
      const Mounted mounted(recipe, runner);
      const layers::LoraSet set({mounted.use()});
      runner.use(&set);
      CHECK(rms_relative(prompt_logits(runner, ids), prompt_logits(dense, ids)) < 2e-5);
      CHECK(prompt_logits(runner, ids) != base);
      runner.use(nullptr);
    }
  }
}

TEST_CASE("two adapters add up, and a strength multiplies") {
  Runner runner(tested_models()[0], tested_ops().back(), 1);
  const auto ids = random_ids(30, 7);
  const Mounted a({.seed = 1}, runner), b({.seed = 2}, runner);
  // The same factors twice at half strength, and one at strength 1.
  const layers::LoraSet halves({a.use(0.5F), a.use(0.5F)}), once({a.use()}), both({a.use(), b.use()}),
      turned({b.use(), a.use()}), none({a.use(0)});
  const auto logits = [&](const layers::LoraSet* set) {
    runner.use(set);
    return prompt_logits(runner, ids);
  };
  CHECK(rms_relative(logits(&halves), logits(&once)) < 2e-6);
  CHECK(rms_relative(logits(&both), logits(&turned)) < 2e-6);
  CHECK(rms_relative(logits(&both), logits(&once)) > 0.05);
  CHECK(logits(&none) == logits(nullptr));
}

TEST_CASE("rows with adapters, with others and without give the bits they have alone") {
  for (const fs::path& folder : tested_models())
    for (const device::Ops& ops : tested_ops()) {
      CAPTURE(folder.filename().string());
      CAPTURE(std::string(ops.device));
      Runner runner(folder, ops, 2);
      // One that adapts all, one that adapts attention only, one that adapts feed-forwards only.
      const Mounted a({.seed = 1}, runner);
      AdapterRecipe some{.seed = 2, .rank = 3};
      some.wants = [](const auto& target) { return target.path.find("mlp") == std::string::npos; };
      const Mounted b(some, runner);
      some.wants = [](const auto& target) { return target.path.ends_with("up_proj"); };
      const Mounted c(some, runner);
      const layers::LoraSet set_a({a.use()}), set_b({b.use(), a.use(-0.5F)}), set_c({c.use()});
      const std::vector<const layers::LoraSet*> sets = {nullptr, &set_a, &set_a, nullptr,
                                                        &set_b,  &set_c, &set_b, nullptr};
      std::vector<std::vector<TokenId>> prompts, next;
      std::vector<std::vector<float>> want_prompt, want_next;
      for (std::size_t i = 0; i < sets.size(); ++i) {
        prompts.push_back(random_ids(1 + 9 * i % 40, 10 + i));
        next.push_back(random_ids(1, 30 + i));
        cache::SequenceCache cache = runner.new_cache();
        runner.use(sets[i]);
        want_prompt.push_back({});
        for (const TokenId& id : prompts[i]) {  // token by token
          const auto row = runner.logits(cache, {&id, 1}, layers::Phase::kDecode);
          want_prompt.back().insert(want_prompt.back().end(), row.begin(), row.end());
        }
        want_next.push_back(runner.logits(cache, next[i]));
      }
      std::vector<cache::SequenceCache> caches;
      std::vector<cache::SequenceCache*> pointers;
      for (std::size_t i = 0; i < sets.size(); ++i) caches.push_back(runner.new_cache());
      for (cache::SequenceCache& cache : caches) pointers.push_back(&cache);
      CHECK(runner.logits(pointers, prompts, sets) == want_prompt);
      CHECK(runner.logits(pointers, next, sets) == want_next);
    }
}

TEST_CASE("rows without adapters have the bits of a model that knows none, on every linear") {
  for (const fs::path& folder : tested_models()) {
    CAPTURE(folder.filename().string());
    Runner runner(folder, tested_ops().back(), 1);
    const auto ids = random_ids(40, 8);
    const std::vector<float> base = prompt_logits(runner, ids);
    const Mounted a({}, runner);
    const layers::LoraSet set({a.use()});
    cache::SequenceCache plain = runner.new_cache(), adapted = runner.new_cache();
    std::vector<cache::SequenceCache*> caches = {&adapted, &plain};
    const std::vector<std::vector<TokenId>> prompts = {random_ids(13, 9), ids};
    const std::vector<const layers::LoraSet*> sets = {&set, nullptr};
    CHECK(runner.logits(caches, prompts, sets)[1] == base);
  }
}

TEST_CASE("only wanted rows with adapters: the bits of all of them") {
  for (const fs::path& folder : tested_models()) {
    CAPTURE(folder.filename().string());
    Runner runner(folder, tested_ops().back(), 1);
    const Mounted a({}, runner);
    const layers::LoraSet set({a.use()});
    runner.use(&set);
    const auto ids = random_ids(33, 8);
    const std::vector<float> all = prompt_logits(runner, ids);
    cache::SequenceCache cache = runner.new_cache();
    const std::vector<float> last = runner.last_logits(cache, ids);
    CHECK(std::equal(last.begin(), last.end(), all.end() - static_cast<std::ptrdiff_t>(last.size())));
  }
}

}  // namespace lanner::test
