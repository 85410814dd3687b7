// SPDX-License-Identifier: Apache-2.0
#include "files/jsonl.h"

#include <algorithm>

#include "core/error.h"
#include "files/json.h"

namespace tessera {
namespace {

constexpr int kLineDepth = 32;

std::string document_of(std::string_view line, const std::filesystem::path& path, int64_t at) {
  Json json;
  std::string wrong = parse_json(line, kLineDepth, json);
  if (wrong.empty() && !json.is_object()) wrong = "is not an object";
  const Json* text = json.find("text");
  if (wrong.empty() && !(text && text->text())) wrong = "has no text under \"text\"";
  if (!wrong.empty())
    throw user_error("the line at byte {} of {} {}", at, path.string(), wrong)
        .help("each line of a .jsonl file is an object such as {\"text\": \"one document\"}");
  return *text->text();
}

}  // namespace

bool is_jsonl(const std::filesystem::path& path) { return path.extension() == ".jsonl"; }

void read_jsonl(std::string_view lines, const std::filesystem::path& path, int64_t at,
                const std::function<void(std::string document)>& document) {
  for (std::string_view rest = lines; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.find_first_not_of(" \t\r") != std::string_view::npos)
      document(document_of(line, path, at + (line.data() - lines.data())));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
}

}  // namespace tessera
