// SPDX-License-Identifier: MIT
#include "cli/model_folder.h"

#include <fmt/format.h>

#include <system_error>

#include "core/error.h"
#include "io/hub.h"
#include "io/message_text.h"

namespace lanner::cli {

std::filesystem::path find_embedded_model(std::string_view name, const ModelPlaces& places) {
  std::string looked;
  for (const std::filesystem::path& folder : places.embedded) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / name / "config.json", ignored)) return folder / name;
    looked += (looked.empty() ? "" : ", ") + io::printable(folder.native());
  }
  throw Error(
      ErrorKind::kNotFound,
      fmt::format("the embedded model {} was not found (looked in {}); set LANNER_MODELS_DIR or name a "
                  "checkpoint folder",
                  name, looked));
}

std::filesystem::path find_model_folder(const std::string& text, const ModelPlaces& places) {
  return text.empty() ? find_embedded_model(kDefaultModel, places) : io::resolve_folder(text, places.hubs);
}

}  // namespace lanner::cli
