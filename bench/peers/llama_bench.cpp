// SPDX-License-Identifier: MIT
// Usage: llama_bench BACKEND.so MODEL.gguf THREADS elapsed|processor < TESTS
// Times llama.cpp through its C API: one JSON line for each line of TESTS (pp512, tg32@128, tg32@128x8).
// Prompts go in batches of 512, the last logits are formed; decoding starts from contexts of random tokens,
// equal for all sequences. f16 cache, flash attention, no mmap: its fastest settings. Compiled with
// LANNER_PEER_IK it is for ik_llama.cpp, which repacks weights as it loads them and has its one backend built
// in (BACKEND.so is not read).
#include <ggml-backend.h>
#include <llama.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace {

struct Test {
  int prompt = 0, decode = 0, depth = 0, sequences = 1;
};

Test parse(const std::string& text) {
  Test test;
  if (std::sscanf(text.c_str(), "pp%d", &test.prompt) == 1) return test;
  std::sscanf(text.c_str(), "tg%d@%dx%d", &test.decode, &test.depth, &test.sequences);
  return test;
}

void fail(const char* what) {
  std::fprintf(stderr, "llama_bench: %s\n", what);
  std::exit(1);
}

class Runner {
 public:
  Runner(llama_model* model, int threads, const Test& test)
      : vocabulary_(llama_vocab_n_tokens(llama_model_get_vocab(model))) {
    llama_context_params params = llama_context_default_params();
    const int rows = test.prompt + test.decode + test.depth;
    params.n_ctx = static_cast<uint32_t>((rows + 64) * test.sequences);
    params.n_batch = params.n_ubatch = 512;
    params.n_seq_max = static_cast<uint32_t>(test.sequences);
    params.n_threads = params.n_threads_batch = threads;
#ifdef LANNER_PEER_IK
    params.flash_attn = true;
#else
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
#endif
    context_ = llama_init_from_model(model, params);
    if (context_ == nullptr) fail("cannot create a context");
    batch_ = llama_batch_init(512, 0, 1);
  }
  ~Runner() {
    llama_batch_free(batch_);
    llama_free(context_);
  }

  void feed(int tokens, int sequence) {
    for (int position = 0; position < tokens;) {
      batch_.n_tokens = 0;
      for (; position < tokens && batch_.n_tokens < 512; ++position)
        add(position, sequence, position + 1 == tokens);
      decode();
    }
  }
  /// The same random context in every sequence.
  void fill(int tokens, int sequences) {
    feed(tokens, 0);
    for (int sequence = 1; sequence < sequences; ++sequence)
#ifdef LANNER_PEER_IK
      llama_kv_cache_seq_cp(context_, 0, sequence, -1, -1);
#else
      llama_memory_seq_cp(llama_get_memory(context_), 0, sequence, -1, -1);
#endif
  }
  void step(int position, int sequences) {
    batch_.n_tokens = 0;
    for (int sequence = 0; sequence < sequences; ++sequence) add(position, sequence, true);
    decode();
  }

 private:
  void add(int position, int sequence, bool wanted) {
    const int i = batch_.n_tokens++;
    batch_.token[i] = static_cast<llama_token>(random_() % static_cast<unsigned>(vocabulary_));
    batch_.pos[i] = position;
    batch_.n_seq_id[i] = 1;
    batch_.seq_id[i][0] = sequence;
    batch_.logits[i] = wanted ? 1 : 0;
  }
  void decode() {
    if (llama_decode(context_, batch_) != 0) fail("llama_decode failed");
    llama_synchronize(context_);
  }

  int vocabulary_;
  llama_context* context_ = nullptr;
  llama_batch batch_{};
  std::mt19937 random_{1};
};

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds(llama_model* model, int threads, clockid_t clock, const Test& test) {
  if (test.prompt > 0) Runner(model, threads, test).feed(test.prompt < 64 ? test.prompt : 64, 0);  // warms up
  Runner runner(model, threads, test);
  if (test.depth > 0) runner.fill(test.depth, test.sequences);
  const double start = now(clock);
  if (test.prompt > 0) runner.feed(test.prompt, 0);
  for (int i = 0; i < test.decode; ++i) runner.step(test.depth + i, test.sequences);
  return now(clock) - start;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) fail("usage: llama_bench BACKEND.so MODEL.gguf THREADS elapsed|processor < TESTS");
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level >= GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
#ifndef LANNER_PEER_IK
  if (ggml_backend_load(arguments[1]) == nullptr) fail("cannot load the backend");
#endif
  llama_backend_init();
  llama_model_params params = llama_model_default_params();
#ifdef LANNER_PEER_IK
  params.use_mmap = false;
  params.repack_tensors = true;
  params.mtp = false;
#else
  params.load_mode = LLAMA_LOAD_MODE_NONE;
  params.load_mtp = false;
#endif
  llama_model* model = llama_model_load_from_file(arguments[2], params);
  if (model == nullptr) fail("cannot load the model");
  const int threads = std::atoi(arguments[3]);
  const clockid_t clock =
      std::strcmp(arguments[4], "processor") == 0 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  for (std::string name; std::getline(std::cin, name);) {
    const Test test = parse(name);
    const double time = seconds(model, threads, clock, test);
    std::printf("{\"test\": \"%s\", \"tokens_per_second\": %.3f}\n", name.c_str(),
                (test.prompt + test.decode) * test.sequences / time);
    std::fflush(stdout);
  }
#ifdef LANNER_PEER_IK
  llama_free_model(model);
#else
  llama_model_free(model);
#endif
  return 0;
}
