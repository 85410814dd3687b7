// SPDX-License-Identifier: Apache-2.0
#include "studio/pictures/picture_svg.h"

#include <fmt/format.h>

#include <cmath>

#include "report/document.h"

namespace tessera {
namespace {

// Rules begin with a class of their own, so that a page with pictures inside keeps its style.
constexpr std::string_view kPictureStyle =
    ".tp text{font:12px system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif;fill:#1b232c}"
    ".tp .head{font-weight:600;font-size:13px}.tp .long{font-size:10.5px}"
    ".tp .soft,.tp .small{fill:#59636e}.tp .small{font-size:10.5px}.tp "
    ".in{fill:#1b232c;font-size:10.5px}"
    ".tp .mid{text-anchor:middle}.tp .end{text-anchor:end}\n"
    ".tp .card{fill:#fff;stroke:#d0d7de}.tp .line{stroke:#d0d7de}.tp "
    ".node{fill:none;stroke:#8b949e}"
    ".tp .limit{stroke:#cf222e;stroke-dasharray:5 4}.tp .z{fill:#8b949e;fill-opacity:.16}\n"
    ".tp .a{fill:#9ecaf7}.tp .b{fill:#a0d8a6}.tp .c{fill:#f5c98b}.tp .d{fill:#d3bdf0}"
    ".tp .e{fill:#8fd6d0}.tp .f{fill:#eede83}.tp .g{fill:#f5b8cf}.tp .h{fill:#c3cad3}"
    ".tp .w{fill:#f2a59b}\n"
    "@media(prefers-color-scheme:dark){.tp text{fill:#e6edf3}.tp .soft,.tp .small{fill:#9ba5b0}"
    ".tp .in{fill:#1b232c}.tp .card{fill:#0d1117;stroke:#30363d}.tp .line{stroke:#30363d}"
    ".tp .limit{stroke:#ff7b72}}";

// Tenths of a pixel, without a trailing zero.
std::string tenths(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

}  // namespace

PictureSvg::PictureSvg(double width, std::string title) : width_(width), title_(std::move(title)) {}

void PictureSvg::heading(std::string_view words) {
  constexpr double kBolder = 1.18, kEdges = 28;
  const bool fits = kBolder * text_width(words) <= width_ - kEdges;
  text(kEdges / 2, 22, words, fits ? "head" : "head long");
}

void PictureSvg::text(double x, double y, std::string_view words, std::string_view kind) {
  parts_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", kind, tenths(x),
                        tenths(y), escape_html(words));
}

void PictureSvg::box(double x, double y, double width, double height, std::string_view kind,
                     std::string_view tip) {
  const std::string_view round = width > 4 ? " rx=\"2\"" : "";
  parts_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", kind,
                        tenths(x), tenths(y), tenths(width), tenths(height), round);
  parts_ += tip.empty() ? std::string("/>\n")
                        : fmt::format("><title>{}</title></rect>\n", escape_html(tip));
}

void PictureSvg::label(double x, double y, double width, std::string_view words) {
  constexpr double kMargin = 2, kSmaller = 0.9;
  if (kSmaller * text_width(words) + kMargin <= width) text(x + width / 2, y, words, "in mid");
}

void PictureSvg::line(double x1, double y1, double x2, double y2, std::string_view kind) {
  parts_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", kind,
                        tenths(x1), tenths(y1), tenths(x2), tenths(y2));
}

void PictureSvg::area(const std::string& path, std::string_view kind) {
  parts_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", kind, path);
}

double PictureSvg::legend(double x, double y,
                          std::span<const std::pair<std::string_view, std::string>> entries) {
  constexpr double kSwatch = 11, kAfterSwatch = 16, kGap = 20;
  for (const auto& [kind, words] : entries) {
    box(x, y - 10, kSwatch, kSwatch, kind);
    text(x + kAfterSwatch, y, words);
    x += kAfterSwatch + text_width(words) + kGap;
  }
  return x;
}

std::string PictureSvg::finish(double height) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tp\" viewBox=\"0 0 {0} {1}\" "
      "width=\"{0}\" height=\"{1}\" role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n"
      "<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{4}\" height=\"{5}\" rx=\"6\"/>\n{6}"
      "</svg>\n",
      tenths(width_), tenths(height), escape_html(title_), kPictureStyle, tenths(width_ - 1),
      tenths(height - 1), parts_);
}

double text_width(std::string_view words) {
  double width = 0;
  for (const char c : words) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;  // within a letter
    constexpr std::string_view kNarrow = "fijlrt.,:; '|()[]", kWide = "mwMW%@";
    width += kNarrow.find(c) != std::string_view::npos ? 4
             : kWide.find(c) != std::string_view::npos ? 10
                                                       : 6.8;
  }
  return width;
}

double tick_of(double range, int most) {
  if (!(range > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(range / most)));
  for (const double step : {1.0, 2.0, 5.0})
    if (range / (step * power) <= most) return step * power;
  return 10 * power;
}

}  // namespace tessera
