// SPDX-License-Identifier: Apache-2.0
// A page as headings, tables, findings, plots and pictures, independent of the output format.
#pragma once

#include <string>
#include <string_view>

#include "report/diagnosis.h"
#include "report/plot_svg.h"

namespace tessera {

struct DocumentTable {
  std::string heading;
  std::vector<std::string> columns;  // empty: rows of a name and a value
  std::vector<std::vector<std::string>> rows;
  std::string note = {};  // below it
};

struct DocumentPicture {
  std::string heading;
  std::string svg;        // with its own style
  std::string note = {};  // below it
};

struct Document {
  std::string title;
  std::vector<std::string> opening;  // paragraphs
  std::vector<DocumentTable> tables;
  std::vector<Finding> findings;
  std::vector<Plot> plots;
  std::vector<DocumentPicture> pictures = {};
};

std::string to_markdown(const Document& document);  // without plots and pictures
std::string to_html(const Document& document);      // self-contained

// Escapes text for HTML and SVG, in elements and in quoted attributes.
inline std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  return escaped;
}

}  // namespace tessera
