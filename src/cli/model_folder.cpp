// SPDX-License-Identifier: MIT
#include "cli/model_folder.h"

#include <fmt/format.h>

#include <system_error>

#include "core/error.h"
#include "io/hub.h"
#include "io/message_text.h"

namespace lanner::cli {

std::filesystem::path find_model_folder(const std::string& text, const ModelPlaces& places) {
  if (!text.empty()) return io::resolve_folder(text, places.hubs);
  std::string looked;
  for (const std::filesystem::path& folder : places.embedded) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / kDefaultModel / "config.json", ignored))
      return folder / kDefaultModel;
    looked += (looked.empty() ? "" : ", ") + io::printable(folder.native());
  }
  throw Error(
      ErrorKind::kNotFound,
      fmt::format("the embedded model {} was not found (looked in {}); set LANNER_MODELS_DIR or name a "
                  "checkpoint folder",
                  kDefaultModel, looked));
}

}  // namespace lanner::cli
