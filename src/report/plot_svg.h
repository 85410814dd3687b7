// SPDX-License-Identifier: Apache-2.0
// Plots as SVG for a page: lines over steps, parts stacked over steps, bars by rank. Colours are
// classes of the page's style (plot_style), so that light and dark pages are both legible.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera {

enum class PlotKind : uint8_t { Lines, Stacked, Bars };

struct PlotSeries {
  std::string name;
  std::vector<double> values;         // by point of x; NaN: nothing there
  std::optional<size_t> colour = {};  // of 5; absent: by its index
};

struct Plot {
  std::string title = {};
  std::string x_label = {}, y_label = {};  // with the unit
  PlotKind kind = PlotKind::Lines;
  std::vector<double> x;             // ascending; of bars: their numbers
  std::vector<PlotSeries> series;    // at most 5; bars stack them
  bool from_zero = true;             // the y axis
  std::optional<double> limit = {};  // a line across, such as a device's memory
  std::string limit_name = {};
};

std::string draw(const Plot& plot);
// The CSS rules for plots, for a <style>.
std::string plot_style();

// At most `most` points: each the mean of its neighbours.
Plot thinned(Plot plot, size_t most);

}  // namespace tessera
