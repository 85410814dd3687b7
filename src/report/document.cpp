// SPDX-License-Identifier: Apache-2.0
// A page that needs no other file and no network: style and plots are inside, light and dark.
#include "report/document.h"

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr const char* kStyle =
    ":root{color-scheme:light dark;--page:#fff;--ink:#1f2328;--soft:#59636e;--rule:#d1d9e0;"
    "--good:#1a7f37;--bad:#cf222e;--c0:#2f74c0;--c1:#d9822b;--c2:#8a6fc2;--c3:#2a9d6f;"
    "--c4:#8b949e}\n"
    "@media(prefers-color-scheme:dark){:root{--page:#0d1117;--ink:#e6edf3;--soft:#9ba5b0;"
    "--rule:#30363d;--good:#3fb950;--bad:#ff7b72;--c0:#5ba3ee;--c1:#f0a860;--c2:#b39ddb;"
    "--c3:#56c596;--c4:#6e7681}}\n"
    "body{background:var(--page);color:var(--ink);max-width:904px;margin:2em auto;padding:0 1em;"
    "font:15px/1.5 system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif}\n"
    "h1{font-size:1.6em}h2{font-size:1.2em;margin-top:1.8em}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%}\n"
    "td,th{border-bottom:1px solid var(--rule);padding:4px 10px 4px 0;text-align:left;"
    "vertical-align:top}th{font-weight:600}td:first-child{color:var(--soft)}"
    ".pairs td:first-child{width:36%}td,th{font-variant-numeric:tabular-nums}\n"
    ".note{color:var(--soft);font-size:.92em}li{margin:.5em 0}\n"
    ".problem{color:var(--bad);font-weight:600}.fine{color:var(--good);font-weight:600}"
    ".unknown{color:var(--soft);font-weight:600}\n";

std::string html_table(const DocumentTable& table) {
  std::string text = fmt::format("<h2>{}</h2>\n", escape_html(table.heading));
  if (!table.rows.empty()) {
    text += fmt::format("<div class=\"wide\"><table{}>\n",
                        table.columns.empty() ? " class=\"pairs\"" : "");
    if (!table.columns.empty()) {
      text += "<tr>";
      for (const std::string& column : table.columns)
        text += fmt::format("<th>{}</th>", escape_html(column));
      text += "</tr>\n";
    }
    for (const std::vector<std::string>& row : table.rows) {
      text += "<tr>";
      for (const std::string& cell : row) text += fmt::format("<td>{}</td>", escape_html(cell));
      text += "</tr>\n";
    }
    text += "</table></div>\n";
  }
  if (!table.note.empty())
    text += fmt::format("<p class=\"note\">{}</p>\n", escape_html(table.note));
  return text;
}

std::string html_picture(const DocumentPicture& picture) {
  return fmt::format("<h2>{}</h2>\n<div class=\"wide\">{}</div>\n<p class=\"note\">{}</p>\n",
                     escape_html(picture.heading), picture.svg, escape_html(picture.note));
}

std::string finding_text(const Finding& finding) {
  const char* style = finding.verdict == Verdict::Problem ? "problem"
                      : finding.verdict == Verdict::Fine  ? "fine"
                                                          : "unknown";  // grey, as notes are
  std::string text = fmt::format("<li><strong>{}</strong> <span class=\"{}\">{}</span>: {}.",
                                 escape_html(finding.title), style, name(finding.verdict),
                                 escape_html(finding.answer));
  if (!finding.advice.empty())
    text += fmt::format("<br><strong>Try:</strong> {}.", escape_html(finding.advice));
  return text + "</li>\n";
}

}  // namespace

std::string to_html(const Document& document) {
  const std::string title = escape_html(document.title);
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{0}</title>\n<style>\n{1}{2}</style></head><body>\n<h1>{0}</h1>\n",
      title, kStyle, plot_style());
  for (const std::string& paragraph : document.opening)
    text += fmt::format("<p>{}</p>\n", escape_html(paragraph));
  if (!document.findings.empty()) {
    text += "<h2>Diagnosis</h2>\n<ul>\n";
    for (const Finding& finding : document.findings) text += finding_text(finding);
    text += "</ul>\n";
  }
  for (const Plot& plot : document.plots) text += draw(plot);
  for (const DocumentPicture& picture : document.pictures) text += html_picture(picture);
  for (const DocumentTable& table : document.tables) text += html_table(table);
  return text + "</body></html>\n";
}

// Tables and findings as Markdown that reads well as plain text; plots are left to the HTML.
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
