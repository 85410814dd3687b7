// SPDX-License-Identifier: Apache-2.0
// Tables and findings as Markdown that reads well as plain text; plots are left to the HTML.
#include <fmt/format.h>

#include "report/document.h"

namespace tessera {
namespace {

// Escapes text from an untrusted folder: its tags must not become tags in Markdown.
std::string plain(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '<' ? "&lt;" : std::string(1, c);
  return safe;
}

// A bar would end the table cell.
std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : plain(text)) {
    if (c == '|') safe += '\\';
    safe += c == '\n' ? ' ' : c;
  }
  return safe;
}

std::string line_of(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& each : cells) line += fmt::format(" {} |", cell(each));
  return line + "\n";
}

std::string markdown_table(const DocumentTable& table) {
  std::string text = fmt::format("## {}\n\n", plain(table.heading));
  if (!table.rows.empty()) {
    const size_t columns = table.rows.front().size();
    text += line_of(table.columns.empty() ? std::vector<std::string>(columns) : table.columns);
    text += line_of(std::vector<std::string>(columns, "---"));
    for (const std::vector<std::string>& row : table.rows) text += line_of(row);
    text += "\n";
  }
  if (!table.note.empty()) text += plain(table.note) + "\n\n";
  return text;
}

}  // namespace

std::string to_markdown(const Document& document) {
  std::string text = fmt::format("# {}\n\n", plain(document.title));
  for (const std::string& paragraph : document.opening) text += plain(paragraph) + "\n\n";
  if (!document.findings.empty()) text += "## Diagnosis\n\n";
  for (const Finding& finding : document.findings) {
    text += fmt::format("- **{}** ({}): {}.", plain(finding.title), name(finding.verdict),
                        plain(finding.answer));
    if (!finding.advice.empty()) text += fmt::format(" Try: {}.", plain(finding.advice));
    text += "\n";
  }
  if (!document.findings.empty()) text += "\n";
  for (const DocumentTable& table : document.tables) text += markdown_table(table);
  return text;
}

}  // namespace tessera
