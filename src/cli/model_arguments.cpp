// SPDX-License-Identifier: MIT
#include "cli/model_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "cli/default_threads.h"
#include "cli/exit_code.h"
#include "cli/validators.h"
#include "core/error.h"
#include "device/cuda.h"

namespace lanner::cli {
namespace {

constexpr int kMostThreads = 1024;
constexpr const char* kFolderHelp = "checkpoint folder, or Hugging Face id (org/name) of a downloaded model";

}  // namespace

int ModelArguments::thread_count() const { return threads ? *threads : default_threads(); }

device::Compute ModelArguments::arithmetic() const {
  if (!cuda_card()) return compute.value_or(usual_compute);
  const bool exact = usual_compute == device::Compute::kExact;
  return compute.value_or(exact ? device::Compute::kExact : device::Compute::kHalf);
}

std::optional<int> ModelArguments::cuda_card() const {
  if (compute == device::Compute::kHalf && (device == "cpu" || isa))
    throw Error(ErrorKind::kInvalidArgument,
                "--compute half is arithmetic of a GPU; use exact or int8 on the CPU");
  if (device == "cpu") return std::nullopt;
  const bool needs_cpu = isa || compute == device::Compute::kInt8;
  if (device != "auto") {
    if (needs_cpu)
      throw Error(
          ErrorKind::kInvalidArgument,
          fmt::format("--isa and --compute int8 choose kernels of the CPU; leave them out with --device {}",
                      device));
    return std::stoi(device.substr(device.find(':') + 1));
  }
  if (needs_cpu) return std::nullopt;
  if (device::cuda_cards().empty()) {
    if (compute == device::Compute::kHalf)
      throw Error(ErrorKind::kUnsupported,
                  "--compute half is arithmetic of a GPU, and this machine shows none; use exact or int8");
    return std::nullopt;
  }
  return 0;
}

void add_folder(CLI::App& app, ModelArguments& arguments) {
  CLI::Option* positional =
      app.add_option("FOLDER", arguments.folder, std::string(kFolderHelp) + " (default: tale-gemma4)");
  positional->type_name("")->check(not_empty());
  app.add_option("-m,--model", arguments.folder, "the same as FOLDER")
      ->type_name("FOLDER")
      ->check(not_empty())
      ->excludes(positional);
}

void add_required_folder(CLI::App& app, ModelArguments& arguments) {
  app.add_option("FOLDER", arguments.folder, kFolderHelp)->required()->type_name("")->check(not_empty());
}

void add_machine_options(CLI::App& app, ModelArguments& arguments) {
  app.add_option(
         "--device", arguments.device,
         "cpu, cuda:0 (or another card), or auto: the first NVIDIA GPU if there is one (default: auto)")
      ->type_name("NAME")
      ->check(device_name())
      ->group("Machine");
  app.add_option("-t,--threads", arguments.threads, "threads (default: the cores this process may use)")
      ->type_name("N")
      ->check(whole_between(1, kMostThreads))
      ->group("Machine");
  app.add_option_function<std::string>(
         "--isa", [&arguments](const std::string& text) { arguments.isa = parse_isa(text); },
         "instruction set of the kernels (default: the best this CPU has)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"reference", "avx2", "avx512", "neon"}))
      ->group("Machine");
  app.add_option_function<std::string>(
         "--compute",
         [&arguments](const std::string& text) { arguments.compute = device::parse_compute(text); },
         "arithmetic of weight products: int8 (activations rounded to 8 bits per group, to bfloat16 beside "
         "bf16 weights where the CPU has AVX512-BF16), half (to 11 bits per row; GPU) or exact (float32, the "
         "reference's; slower). Default: int8 or half; exact in logits and perplexity")
      ->type_name("MODE")
      ->check(CLI::IsMember({"exact", "int8", "half"}))
      ->group("Machine");
}

void add_kv_option(CLI::App& app, ModelArguments& arguments, const std::string& fallback) {
  app.add_option_function<std::string>(
         "--kv-type",
         [&arguments](const std::string& text) { arguments.kv_type = device::parse_kv_type(text); },
         "how keys and values are stored: bf16, f32, or 8, 6 or 4 bits (default: " + fallback + ")")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"bf16", "f32", "q8", "q6", "q4"}))
      ->group("Machine");
}

void set_examples(CLI::App& app, const std::string& examples) {
  app.footer("Examples:\n" + examples + "\n" + kExitCodeHelp);
}

}  // namespace lanner::cli
