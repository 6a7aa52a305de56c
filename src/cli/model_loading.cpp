// SPDX-License-Identifier: MIT
#include "cli/model_loading.h"

#include "cli/waiting_line.h"
#include "io/message_text.h"

namespace lanner::cli {

std::shared_ptr<const engine::LoadedModel> load_model(const ModelArguments& arguments, Console& console,
                                                      const models::LoadProgress& progress) {
  const std::filesystem::path folder = arguments.find_folder();
  const WaitingLine line(console, "loading " + io::printable(folder.native()));
  return std::make_shared<engine::LoadedModel>(folder,
                                               engine::LoadOptions{.isa = arguments.instruction_set(),
                                                                   .cuda = arguments.cuda_card(),
                                                                   .compute = arguments.arithmetic(),
                                                                   .threads = arguments.thread_count(),
                                                                   .kv_type = arguments.kv_type},
                                               progress);
}

}  // namespace lanner::cli
