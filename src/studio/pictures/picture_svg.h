// SPDX-License-Identifier: Apache-2.0
// An SVG that reads on light and on dark pages, as a file and inside a page. Colours are the
// classes of its style; the same input gives the same bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

// Fills, all legible under dark text, but for the card that everything lies on.
namespace fill {
inline constexpr std::string_view kBlue = "a", kGreen = "b", kOrange = "c", kViolet = "d",
                                  kTeal = "e", kYellow = "f", kPink = "g", kGrey = "h", kWait = "w",
                                  kEmpty = "z";
}

class PictureSvg {
 public:
  PictureSvg(double width, std::string title);

  double width() const { return width_; }

  // What the picture is of, in its first line; a long one in smaller letters.
  void heading(std::string_view words);
  // Kinds of text: "head", "soft", "small"; with " mid" or " end" for where x is, and "in" for dark
  // text on a box.
  void text(double x, double y, std::string_view words, std::string_view kind = "soft");
  // The tip is shown under a mouse, and read aloud.
  void box(double x, double y, double width, double height, std::string_view kind,
           std::string_view tip = {});
  // Centred words, where the box has room for them.
  void label(double x, double y, double width, std::string_view words);
  void line(double x1, double y1, double x2, double y2, std::string_view kind = "line");
  void area(const std::string& path, std::string_view kind);
  // A legend from x on: a swatch and a word each. Returns where it ends.
  double legend(double x, double y,
                std::span<const std::pair<std::string_view, std::string>> entries);

  std::string finish(double height) const;

 private:
  double width_;
  std::string title_, parts_;
};

// How wide words are, in pixels: an estimate that is rather too wide.
double text_width(std::string_view words);

// 1, 2 or 5 times a power of ten: the space of at most `most` ticks over a range.
double tick_of(double range, int most);

}  // namespace tessera
