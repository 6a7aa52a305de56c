// SPDX-License-Identifier: MIT
#include "server/static_files.h"

#include <array>

// Puts web/dist/NAME into the program as SYMBOL_begin to SYMBOL_end. The assembler copies it: as a C++ array
// it would take seconds to compile.
#define LANNER_EMBED(SYMBOL, NAME)                                                                        \
  __asm__(".pushsection .rodata\n.global " #SYMBOL "_begin\n.global " #SYMBOL "_end\n" #SYMBOL            \
          "_begin:\n.incbin \"" LANNER_WEB_DIST "/" NAME "\"\n" #SYMBOL "_end:\n.byte 0\n.popsection\n"); \
  extern "C" const char SYMBOL##_begin[];                                                                 \
  extern "C" const char SYMBOL##_end[]

LANNER_EMBED(lanner_page_html, "index.html");
LANNER_EMBED(lanner_page_script, "page.js");
LANNER_EMBED(lanner_page_style, "page.css");
LANNER_EMBED(lanner_page_icon, "icon.svg");

namespace lanner::server {
namespace {

std::string_view embedded(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::span<const StaticFile> static_files() {
  static const std::array<StaticFile, 4> files = {
      {{"/", "text/html; charset=utf-8", embedded(lanner_page_html_begin, lanner_page_html_end)},
       {"/page.js", "text/javascript; charset=utf-8",
        embedded(lanner_page_script_begin, lanner_page_script_end)},
       {"/page.css", "text/css; charset=utf-8", embedded(lanner_page_style_begin, lanner_page_style_end)},
       {"/icon.svg", "image/svg+xml", embedded(lanner_page_icon_begin, lanner_page_icon_end)}}};
  return files;
}

const StaticFile* find_static_file(std::string_view path) {
  for (const StaticFile& file : static_files())
    if (file.path == path) return &file;
  return nullptr;
}

}  // namespace lanner::server
