// SPDX-License-Identifier: MIT
#include "cli/quantize_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/progress_bar.h"
#include "cli/validators.h"
#include "core/error.h"
#include "io/json.h"
#include "io/message_text.h"
#include "quantize/quantize_folder.h"

namespace lanner::cli {
namespace {

quantize::QuantFormat format_of(const QuantizeArguments& arguments) {
  quantize::QuantFormat format = quantize::default_format(quantize::parse_quant_mode(arguments.mode));
  if (arguments.bits) format.bits = *arguments.bits;
  if (arguments.group) format.group = *arguments.group;
  return format;
}

std::string check_override(const std::string& text) {
  try {
    quantize::parse_bit_override(text);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

void print(const QuantizeArguments& arguments, const quantize::QuantizeReport& report, std::ostream& out) {
  if (arguments.json) {
    out << io::Json{{"output", arguments.output},
                    {"source_bytes", report.source_bytes},
                    {"output_bytes", report.output_bytes},
                    {"bits_per_weight", report.bits_per_weight()},
                    {"formats", report.formats},
                    {"kept_dense", report.kept_dense},
                    {"files", report.files}}
               .dump()
        << '\n';
    return;
  }
  out << fmt::format("{}: {} became {}, {:.2f} bits per weight\n", io::printable(arguments.output),
                     io::readable_size(report.source_bytes), io::readable_size(report.output_bytes),
                     report.bits_per_weight());
  for (const auto& [format, modules] : report.formats)
    out << fmt::format("  {:<26} {} modules\n", format, modules);
}

}  // namespace

void declare_quantize(CLI::App& app, QuantizeArguments& arguments) {
  app.add_option("IN", arguments.model.folder, "checkpoint folder or Hugging Face id, in bf16, f16 or f32")
      ->required()
      ->type_name("");
  app.add_option("OUT", arguments.output, "folder to write; must not exist, or be empty")
      ->required()
      ->type_name("");
  app.add_option("--bits,--q-bits", arguments.bits, "bits of one weight: 2, 3, 4, 5, 6 or 8 (default: 4)")
      ->type_name("N")
      ->check(CLI::IsMember({2, 3, 4, 5, 6, 8}));
  app.add_option("--group,--group-size,--q-group-size", arguments.group,
                 "weights that share a scale: 32, 64 or 128 (default: 64)")
      ->type_name("N")
      ->check(CLI::IsMember({16, 32, 64, 128}));
  app.add_option("--mode,--q-mode", arguments.mode, "affine (default), mxfp4, mxfp8 or nvfp4")
      ->type_name("NAME")
      ->check(CLI::IsMember({"affine", "mxfp4", "mxfp8", "nvfp4"}));
  app.add_option("--override", arguments.overrides,
                 "bits of the modules whose name a regular expression finds; none leaves them as they are; "
                 "may be repeated, the first match counts")
      ->type_name("REGEX=BITS[:GROUP]")
      ->take_all()
      ->allow_extra_args(false)
      ->check(
          CLI::Validator([](std::string& text) { return check_override(text); }, std::string(), "override"));
  app.add_option("--shard-size", arguments.shard_megabytes, "largest weight file in MB (default: 5000)")
      ->type_name("MB")
      ->check(whole_between(1, 1'000'000));
  app.add_flag("--json", arguments.json, "report as one JSON object");
  app.add_option("-t,--threads", arguments.model.threads, "threads (default: the cores this process may use)")
      ->type_name("N")
      ->check(whole_between(1, 1024));
  set_examples(
      app,
      "  lanner quantize FOLDER OUT --bits 4 --group 64\n"
      "  lanner quantize FOLDER OUT --bits 4 --override 'down_proj=6:64' --override 'embed_tokens=8'\n"
      "  lanner quantize FOLDER OUT --mode mxfp4\n");
}

int quantize_command(const QuantizeArguments& arguments, Console& console) {
  quantize::QuantizeOptions options{.input = arguments.model.find_folder(),
                                    .output = arguments.output,
                                    .format = format_of(arguments),
                                    .overrides = {},
                                    .max_shard_bytes = arguments.shard_megabytes * 1'000'000,
                                    .threads = arguments.model.thread_count()};
  for (const std::string& text : arguments.overrides)
    options.overrides.push_back(quantize::parse_bit_override(text));
  const InterruptWatch watch(WatchedSignals::kAnyEnding);
  ProgressBar bar(console, "quantize");
  const quantize::QuantizeReport report =
      quantize::quantize_folder(options, [&](const quantize::QuantizeProgress& progress) {
        watch.check();
        bar.update(progress.done_bytes, progress.total_bytes);
      });
  bar.clear();
  print(arguments, report, console.out);
  return kExitOk;
}

}  // namespace lanner::cli
