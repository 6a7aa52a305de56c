// SPDX-License-Identifier: MIT
#include "engine/state_file.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>

#include "cache/toy_sequence.h"
#include "core/error.h"
#include "io/temporary_folder.h"

namespace lanner::engine {
namespace {

namespace fs = std::filesystem;

const cache::PrefixKey kKey = {.model = "toy", .kv_types = "f32", .adapters = ""};

std::vector<TokenId> ids_of(std::size_t count) {
  std::vector<TokenId> ids(count);
  std::iota(ids.begin(), ids.end(), 100);
  return ids;
}

/// A saved toy sequence of `length` tokens, as the file's bytes.
class Saved {
 public:
  explicit Saved(std::size_t length) : ids(ids_of(length)), cache(cache::toy_spec()) {
    if (length > 0) forward.append(cache, ids);
    save_state(file, kKey, {.ids = ids, .sequence = cache});
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }

  /// The error of parsing `changed`; empty when it was accepted.
  std::string error(const std::string& changed, const cache::PrefixKey& key = kKey) const {
    try {
      parse_state(std::as_bytes(std::span(changed)), "x.state", key, cache::toy_spec(), cache::BlockPool());
    } catch (const Error& problem) {
      return problem.what();
    }
    return "";
  }

  io::TemporaryFolder folder;
  fs::path file = folder.path() / "x.state";
  cache::ToyForward forward;
  std::vector<TokenId> ids;
  cache::SequenceCache cache;
  std::string bytes;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a restored state holds and continues exactly what was saved") {
  for (std::size_t length : {1U, 63U, 64U, 65U, 128U, 300U}) {
    CAPTURE(length);
    Saved saved(length);
    const cache::BlockPool pool;
    SavedState restored = load_state(saved.file, kKey, cache::toy_spec(), pool);
    CHECK(restored.ids == saved.ids);
    CHECK(restored.cache.length() == length);
    CHECK(restored.cache.size_bytes() == pool.used_bytes());
    CHECK(saved.forward.probe(restored.cache) == saved.forward.probe(saved.cache));
    const auto more = ids_of(150);
    saved.forward.append(restored.cache, more);
    saved.forward.append(saved.cache, more);
    CHECK(saved.forward.probe(restored.cache) == saved.forward.probe(saved.cache));
  }
}

TEST_CASE("a state after a draft that ended at a chunk's end is saved with its whole chunk") {
  cache::ToyForward forward;
  cache::SequenceCache cache(cache::toy_spec());
  forward.append(cache, ids_of(60));
  {
    auto draft = cache.begin_draft(8);
    REQUIRE(draft.has_value());
    forward.append(cache, ids_of(8));
    draft->commit(4);
  }
  const io::TemporaryFolder folder;
  const fs::path file = folder.path() / "x.state";
  save_state(file, kKey, {.ids = ids_of(64), .sequence = cache});
  SavedState restored = load_state(file, kKey, cache::toy_spec(), cache::BlockPool());
  forward.append(restored.cache, ids_of(70));
  forward.append(cache, ids_of(70));
  CHECK(forward.probe(restored.cache) == forward.probe(cache));
}

TEST_CASE("a state for another model, storage or adapters is refused by name") {
  const Saved saved(70);
  CHECK(contains(saved.error(saved.bytes, {.model = "other", .kv_types = "f32", .adapters = ""}),
                 R"(x.state: saved with model "toy", this one has "other")"));
  CHECK(contains(saved.error(saved.bytes, {.model = "toy", .kv_types = "q4", .adapters = ""}),
                 R"(keys and values stored as "f32")"));
  CHECK(contains(saved.error(saved.bytes, {.model = "toy", .kv_types = "f32", .adapters = "a"}), "adapters"));
}

TEST_CASE("every damaged byte, of padding too, and every cut is an error") {
  const Saved saved(70);
  CHECK(saved.error(saved.bytes).empty());
  std::uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, saved.bytes.data() + 8, sizeof header_bytes);
  const std::size_t header_end = 20 + header_bytes;
  for (std::size_t at = 0; at < header_end; at += at < 24 ? 1 : 37) {
    std::string changed = saved.bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    CAPTURE(at);
    CHECK_FALSE(saved.error(changed).empty());
  }
  for (std::size_t at = 16384; at < saved.bytes.size(); at += 4099) {
    std::string changed = saved.bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CAPTURE(at);
    CHECK(contains(saved.error(changed), "is damaged"));
  }
  std::string padded = saved.bytes;
  padded[16383] = 1;
  CHECK(contains(saved.error(padded), "the padding from byte"));
  CHECK(contains(saved.error(saved.bytes + '\0'), "1 bytes follow the last layer"));
  std::string damaged = saved.bytes;
  damaged[16384] = static_cast<char>(damaged[16384] ^ 1);
  CHECK(contains(saved.error(damaged), "layer 0 is damaged"));
  for (std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{12}, std::size_t{20}, header_end - 1,
                           header_end, std::size_t{16384}, saved.bytes.size() - 1}) {
    CAPTURE(size);
    CHECK_FALSE(saved.error(saved.bytes.substr(0, size)).empty());
  }
}

TEST_CASE("a state that does not fit the pool is refused and leaves nothing behind") {
  const Saved saved(300);
  const cache::BlockPool pool(20'000);
  CHECK_THROWS_AS(load_state(saved.file, kKey, cache::toy_spec(), pool), Error);
  CHECK(pool.used_bytes() == 0);
}

}  // namespace lanner::engine
