// SPDX-License-Identifier: MIT
#include "cli/synth_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/progress_bar.h"
#include "cli/validators.h"
#include "core/error.h"
#include "io/json.h"
#include "io/message_text.h"
#include "synthetic/presets.h"
#include "synthetic/synthetic_folder.h"

namespace lanner::cli {
namespace {

io::Json read_size(const std::string& text) {
  if (auto preset = synthetic::preset_config(text)) return *preset;
  std::error_code ignored;
  std::filesystem::path path = text;
  if (std::filesystem::is_directory(path, ignored)) path /= "config.json";
  if (std::filesystem::exists(path, ignored)) return io::load_json(path);
  throw Error(ErrorKind::kNotFound,
              fmt::format("{}: neither a config.json nor one of the known sizes {}", io::printable(text),
                          fmt::join(synthetic::preset_names(), ", ")));
}

/// nullopt: not quantized.
std::optional<quantize::QuantFormat> format_of(const SynthArguments& arguments) {
  if (arguments.mode == "bf16") return std::nullopt;
  quantize::QuantFormat format = quantize::default_format(quantize::parse_quant_mode(arguments.mode));
  format.bits = arguments.bits.value_or(format.bits);
  format.group = arguments.group.value_or(format.group);
  return format;
}

}  // namespace

void declare_synth(CLI::App& app, SynthArguments& arguments) {
  app.add_option("SIZE", arguments.model.folder,
                 fmt::format("{}; or a config.json, or a folder with one",
                             fmt::join(synthetic::preset_names(), ", ")))
      ->required()
      ->type_name("");
  app.add_option("OUT", arguments.output, "folder to write; must not exist, or be empty")
      ->required()
      ->type_name("");
  app.add_option("--bits", arguments.bits, "bits of one weight: 2, 3, 4, 5, 6 or 8 (default: 4)")
      ->type_name("N")
      ->check(CLI::IsMember({2, 3, 4, 5, 6, 8}));
  app.add_option("--group", arguments.group, "weights that share a scale: 32, 64 or 128 (default: 64)")
      ->type_name("N")
      ->check(CLI::IsMember({32, 64, 128}));
  app.add_option("--mode", arguments.mode, "affine (default), mxfp4, mxfp8, nvfp4; bf16: not quantized")
      ->type_name("NAME")
      ->check(CLI::IsMember({"affine", "mxfp4", "mxfp8", "nvfp4", "bf16"}));
  app.add_option("--seed", arguments.seed, "names the random numbers (default: 0)")
      ->type_name("N")
      ->check(any_64_bits());
  app.add_option("--shard-size", arguments.shard_megabytes, "largest weight file in MB (default: 5000)")
      ->type_name("MB")
      ->check(whole_between(1, 1'000'000));
  set_examples(app,
               "  lanner synth qwen3.5-0.8b OUT --bits 4 --group 64\n"
               "  lanner synth qwen3.5-0.8b OUT --mode mxfp4\n"
               "  lanner synth FOLDER/config.json OUT\n");
}

int synth_command(const SynthArguments& arguments, Console& console) {
  synthetic::SyntheticOptions options{.name = arguments.model.folder,
                                      .config = read_size(arguments.model.folder),
                                      .output = arguments.output,
                                      .text_parts = {},
                                      .format = format_of(arguments),
                                      .seed = arguments.seed,
                                      .max_shard_bytes = arguments.shard_megabytes * 1'000'000};
  options.text_parts = find_embedded_model(
      synthetic::is_gemma4(options.config) ? "tale-gemma4" : "tale-qwen3_5", arguments.model.places);
  const InterruptWatch watch(WatchedSignals::kAnyEnding);
  ProgressBar bar(console, "synth");
  const synthetic::SyntheticReport report =
      synthetic::write_synthetic_folder(options, [&](std::uint64_t done, std::uint64_t total) {
        watch.check();
        bar.update(done, total);
      });
  bar.clear();
  console.out << fmt::format("{}: {} of random weights, {} parameters\n", io::printable(arguments.output),
                             io::readable_size(report.size_bytes), report.parameters);
  return kExitOk;
}

}  // namespace lanner::cli
