// SPDX-License-Identifier: Apache-2.0
// A request as lines: method, path, headers; after an empty line the question. One that is taken
// names our host and has the token where it asks; no path reads a file that is not the page's.
#include <algorithm>
#include <filesystem>

#include "files/json.h"
#include "fuzz_input.h"
#include "serve/page_files.h"
#include "serve/request_check.h"

namespace tessera {

std::span<const EmbeddedFile> embedded_files() {
  static constexpr EmbeddedFile kFiles[] = {{"index.html", "page"}, {"deep/own.js", "page"}};
  return kFiles;
}

namespace {

const AccessRule kRule{.port = 80, .token = "secret"};

// A folder with a page and much that is none.
struct Page {
  InputFolder top;
  Page() {
    std::filesystem::create_directories(top.path() / "page/deep");
    for (const char* name : {"page/index.html", "page/deep/own.js"}) top.write(name, "page");
    for (const char* name : {"no.js", "page/.no.js", "page/no.pem"}) top.write(name, "no page");
    std::filesystem::create_symlink("..", top.path() / "page/up");
    std::filesystem::create_symlink("../no.js", top.path() / "page/link.js");
  }
};

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

void check_taken(const RequestHead& head) {
  must(find_header(head, "Host").has_value(), "what is taken names a host");
  if (asked_kind(head.path)) {
    must(head.method == "POST" && find_header(head, "x-tessera-token") == kRule.token,
         "a question that is taken is a POST with the token");
  } else {
    must(head.method == "GET" || head.method == "HEAD", "what is no question is a GET");
  }
  const auto origin = find_header(head, "origin");
  must(!origin || origin->ends_with(*find_header(head, "host")), "the origin is the host");
}

void check_file(std::string_view path) {
  static const Page page;
  static const auto find = files_of_folder(page.top.path() / "page");
  const auto of_folder = find(path), of_binary = find_embedded_file(path);
  must(of_folder.has_value() == of_binary.has_value(), "folder and binary have the same files");
  must(!of_folder || of_folder->bytes == "page", "no file but the page's is read");
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  std::string_view text = text_of(data, size);
  RequestHead head{.method = take_line(text), .path = take_line(text)};
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty()) break;
    const size_t colon = std::min(line.find(':'), line.size());
    head.headers.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 1, line.size())));
  }
  if (!refuse_request(head, kRule)) check_taken(head);
  check_file(head.path);
  Json question;
  if (parse_json(text, 8, question).empty())
    must(parse_json(question.dump()) == question, "a question that is read prints and reads back");
  return 0;
}
