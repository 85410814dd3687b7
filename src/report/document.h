// SPDX-License-Identifier: Apache-2.0
// A page as headings, tables, findings and plots, independent of the output format.
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

struct Document {
  std::string title;
  std::vector<std::string> opening;  // paragraphs
  std::vector<DocumentTable> tables;
  std::vector<Finding> findings;
  std::vector<Plot> plots;
};

std::string to_markdown(const Document& document);  // without the plots
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
