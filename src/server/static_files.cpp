// SPDX-License-Identifier: MIT
#include "server/static_files.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/error.h"

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
LANNER_EMBED(lanner_page_licenses, "licenses.md");

namespace lanner::server {
namespace {

/// The chat page loads nothing from elsewhere and runs nothing that the model wrote.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string etag_of(std::string_view content) {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> hash;
  if (EVP_Digest(content.data(), content.size(), hash.data(), nullptr, EVP_sha256(), nullptr) != 1)
    throw Error(ErrorKind::kInternal, "OpenSSL computes no SHA-256");
  return fmt::format("\"{:02x}\"", fmt::join(hash.begin(), hash.begin() + 12, ""));
}

StaticFile embedded(std::string_view path, std::string_view content_type, const char* begin,
                    const char* end) {
  const std::string_view content(begin, static_cast<std::size_t>(end - begin));
  return {path, content_type, content, etag_of(content)};
}

/// Whether `list`, the value of an If-None-Match field, names `etag`, by the weak comparison.
bool names(std::string_view list, std::string_view etag) {
  if (list == "*") return true;
  for (std::size_t at = list.find('"'); at != std::string_view::npos; at = list.find('"', at)) {
    const std::size_t end = list.find('"', at + 1);
    if (end == std::string_view::npos) return false;
    if (list.substr(at, end + 1 - at) == etag) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::span<const StaticFile> static_files() {
  static const std::array<StaticFile, 5> files = {
      embedded("/", "text/html; charset=utf-8", lanner_page_html_begin, lanner_page_html_end),
      embedded("/page.js", "text/javascript; charset=utf-8", lanner_page_script_begin,
               lanner_page_script_end),
      embedded("/page.css", "text/css; charset=utf-8", lanner_page_style_begin, lanner_page_style_end),
      embedded("/icon.svg", "image/svg+xml", lanner_page_icon_begin, lanner_page_icon_end),
      // Browsers show plain text and save Markdown.
      embedded("/licenses.md", "text/plain; charset=utf-8", lanner_page_licenses_begin,
               lanner_page_licenses_end)};
  return files;
}

const StaticFile* find_static_file(std::string_view path) {
  for (const StaticFile& file : static_files())
    if (file.path == path) return &file;
  return nullptr;
}

HttpResponse static_file_response(const StaticFile& file, const HttpRequest& request) {
  HttpResponse response{.content_type = std::string(file.content_type),
                        .headers = {{"Content-Security-Policy", kPagePolicy},
                                    {"X-Content-Type-Options", "nosniff"},
                                    {"Referrer-Policy", "no-referrer"},
                                    {"Cache-Control", "no-cache"},
                                    {"ETag", file.etag}}};
  const bool known = std::ranges::any_of(request.headers, [&](const auto& field) {
    return equal_ignoring_case(field.first, "if-none-match") && names(field.second, file.etag);
  });
  if (known)
    response.status = 304;
  else
    response.body = file.content;
  return response;
}

}  // namespace lanner::server
