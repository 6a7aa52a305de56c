// SPDX-License-Identifier: MIT
#include "server/static_files.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "server/http_client.h"
#include "server/test_server.h"

namespace lanner::server {

using test::http_get;
using test::HttpReply;

namespace {

/// What comes until the other end closes.
std::string all_of(test::Socket& socket) {
  std::string all;
  for (std::string part = socket.receive(); !part.empty(); part = socket.receive()) all += part;
  return all;
}

}  // namespace

TEST_CASE("every file of the chat page is served whole, typed, and for the browser to ask about again") {
  const std::uint16_t port = test::shared_server("tale-gemma4").port();
  std::set<std::string> etags;
  for (const StaticFile& file : static_files()) {
    CAPTURE(file.path);
    const HttpReply reply = http_get(port, file.path);
    CHECK(reply.status == 200);
    CHECK(reply.body == file.content);
    CHECK(!reply.body.empty());
    CHECK(reply.header("content-type") == file.content_type);
    CHECK(reply.header("etag") == file.etag);
    CHECK(reply.header("cache-control") == "no-cache");
    CHECK(reply.header("x-content-type-options") == "nosniff");
    CHECK(reply.header("content-security-policy").value_or("").starts_with("default-src 'none'; "));
    etags.insert(file.etag);
  }
  CHECK(etags.size() == static_files().size());
}

TEST_CASE("the licences of the page's libraries can be read, and everything the page links to is there") {
  const std::uint16_t port = test::shared_server("tale-gemma4").port();
  CHECK(http_get(port, "/licenses.md").body.find("preact") != std::string::npos);
  const std::string html = http_get(port, "/").body;
  std::size_t links = 0;
  for (std::size_t at = html.find("\"./"); at != std::string::npos; at = html.find("\"./", at + 1), ++links) {
    const std::string path = html.substr(at + 2, html.find('"', at + 1) - at - 2);
    CAPTURE(path);
    CHECK(find_static_file(path) != nullptr);
  }
  CHECK(links >= 3);
}

TEST_CASE("a file that the browser has is not sent again") {
  const std::uint16_t port = test::shared_server("tale-gemma4").port();
  const std::string etag = http_get(port, "/page.js").header("etag").value();
  for (const std::string& list : {etag, "W/" + etag, "\"old\", " + etag, "\"a,b\" ,W/" + etag + ", \"c\"",
                                  std::string("*"), "\"x\"\r\nIf-None-Match: " + etag}) {
    CAPTURE(list);
    test::Socket socket(port);
    REQUIRE(socket.send("GET /page.js HTTP/1.1\r\nHost: x\r\nif-none-match: " + list + "\r\n\r\n" +
                        "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    const std::string both = all_of(socket);
    CHECK(both.starts_with("HTTP/1.1 304 Not Modified\r\n"));
    CHECK(both.find("ETag: " + etag) != std::string::npos);
    CHECK(both.find("Cache-Control: no-cache") != std::string::npos);
    const std::string head = both.substr(0, both.find("\r\n\r\n") + 4);
    CHECK(head.find("Content-Length") == std::string::npos);
    CHECK(both.substr(head.size()).starts_with("HTTP/1.1 200"));  // no body: the next response follows
  }
}

TEST_CASE("a file is sent when If-None-Match names another, is broken, or asks about another address") {
  const std::uint16_t port = test::shared_server("tale-gemma4").port();
  const std::string etag = http_get(port, "/page.js").header("etag").value();
  const std::string bare = etag.substr(1, etag.size() - 2);
  const std::vector<std::string> lists = {"\"old\"", bare, "\"" + bare, "\"", "W/", "\"a\", *"};
  for (const std::string& list : lists) {
    CAPTURE(list);
    CHECK(http_get(port, "/page.js", "If-None-Match: " + list + "\r\n").status == 200);
  }
  CHECK(http_get(port, "/page.css", "If-None-Match: " + etag + "\r\n").status == 200);
  CHECK(http_get(port, "/page.map", "If-None-Match: *\r\n").status == 404);
}

TEST_CASE("HEAD tells about a file without sending it") {
  test::Socket socket(test::shared_server("tale-gemma4").port());
  REQUIRE(socket.send("HEAD /page.css HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  const std::string all = all_of(socket);
  const StaticFile& file = *find_static_file("/page.css");
  CHECK(all.find("Content-Length: " + std::to_string(file.content.size())) != std::string::npos);
  CHECK(all.find("ETag: " + file.etag) != std::string::npos);
  CHECK(all.ends_with("\r\n\r\n"));
}

}  // namespace lanner::server
