// SPDX-License-Identifier: Apache-2.0
#include "system/shell_words.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <sstream>

#include "core/error.h"

namespace tessera {

std::vector<std::string> shell_words(std::string_view text, const std::string& place) {
  std::vector<std::string> words;
  std::optional<std::string> word;  // the one being read; '' is a word too
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && is_blank) {
      if (word) words.push_back(*word);
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    // Between double quotes a backslash is literal, except before a quote or another backslash.
    const bool escapes =
        c == '\\' && i + 1 < text.size() &&
        (quote == 0 || (quote == '"' && (text[i + 1] == '"' || text[i + 1] == '\\')));
    if (escapes)
      *word += text[++i];
    else if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else
      *word += c;
  }
  if (quote != 0)
    throw user_error("{}: a quote ({}) is not closed: {}", place, quote, text)
        .help("close it, or write a backslash before it");
  if (word) words.push_back(*word);
  return words;
}

namespace {

namespace fs = std::filesystem;

bool can_be_run(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<fs::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return can_be_run(name) ? std::optional<fs::path>(name) : std::nullopt;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (fs::path file = fs::path(folder) / name; can_be_run(file)) return file;
  return std::nullopt;
}

}  // namespace tessera
