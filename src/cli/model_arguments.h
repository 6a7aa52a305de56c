// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/cli11_app.h"
#include "cli/model_folder.h"
#include "core/cpu_features.h"
#include "device/matrix.h"
#include "device/ops.h"

namespace lanner::cli {

/// Which model, and what to run it with.
struct ModelArguments {
  std::string folder = {};  ///< path or Hugging Face id; empty = the embedded default
  std::optional<int> threads = {};
  std::optional<Isa> isa = {};
  std::optional<device::Compute> compute = {};  ///< as asked for
  device::Compute usual_compute = device::Compute::kInt8;
  std::string device = "auto";                 ///< "cpu", "cuda:N" or "auto"
  std::optional<device::KvType> kv_type = {};  ///< none = as the folder says, else bf16
  ModelPlaces places = {};

  std::filesystem::path find_folder() const { return find_model_folder(folder, places); }
  int thread_count() const;
  /// What weights are computed in: as asked for, else as usual; always exact on a GPU.
  device::Compute arithmetic() const;
  /// The GPU to run on, if any. "auto": the first, when there is one and no option asks for what only CPUs
  /// do.
  std::optional<int> cuda_card() const;
  Isa instruction_set() const { return isa ? *isa : detect_isa(); }
};

/// Adds the positional FOLDER, which may be left out, and -m/--model for the same.
void add_folder(CLI::App& app, ModelArguments& arguments);
/// Adds a positional FOLDER that must be given.
void add_required_folder(CLI::App& app, ModelArguments& arguments);
/// Adds --device, --threads, --isa and --compute.
void add_machine_options(CLI::App& app, ModelArguments& arguments);
/// Adds --kv-type; `fallback` says in the help what happens without it.
void add_kv_option(CLI::App& app, ModelArguments& arguments, const std::string& fallback);

/// Examples, then the exit codes: the end of a command's help.
void set_examples(CLI::App& app, const std::string& examples);

}  // namespace lanner::cli
