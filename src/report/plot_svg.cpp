// SPDX-License-Identifier: Apache-2.0
#include "report/plot_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/document.h"

namespace tessera {
namespace {

// In pixels.
constexpr double kWidth = 720, kHeight = 280, kLeft = 72, kRight = 16, kTop = 54, kBottom = 46;

struct Range {
  double low = 0, high = 1, tick = 0.2;
};

// Ends on ticks of 1, 2 or 5 times a power of ten.
Range nice_range(double low, double high, bool whole_ticks) {
  if (!(high > low)) high = low + (low == 0 ? 1 : std::abs(low) * 0.1);
  constexpr double kTicks = 5;
  const double rough = (high - low) / kTicks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double tick = 10 * power;
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= rough) {
      tick = step * power;
      break;
    }
  if (whole_ticks) tick = std::max(1.0, tick);
  return {std::floor(low / tick + 1e-9) * tick, std::ceil(high / tick - 1e-9) * tick, tick};
}

std::string number_text(double value) {
  if (std::abs(value) < 1e-12) return "0";
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:.4g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot), bars_(plot.kind == PlotKind::Bars) {
    x_ = plot.x.empty() ? Range{} : x_range();
    y_ = y_range();
  }

  std::string draw() {
    text_ = fmt::format(
        "<svg class=\"plot\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
        "aria-label=\"{2}\">\n<text class=\"title\" x=\"0\" y=\"16\">{2}</text>\n",
        kWidth, kHeight, escape_html(plot_.title));
    draw_legend();
    draw_axes();
    std::vector<double> below(plot_.x.size(), 0);
    for (size_t i = 0; i < plot_.series.size(); ++i) {
      if (plot_.kind == PlotKind::Lines)
        draw_line(i);
      else if (bars_)
        draw_bars(i, below);
      else
        draw_area(i, below);
    }
    draw_limit();
    return text_ + "</svg>\n";
  }

 private:
  Range x_range() const {
    const double first = plot_.x.front(), last = plot_.x.back();
    if (bars_) return {-0.5, static_cast<double>(plot_.x.size()) - 0.5, 1};
    Range range = nice_range(first, std::max(last, first + 1), true);
    range.low = first;
    range.high = std::max(last, first + 1);
    return range;
  }

  Range y_range() const {
    double low = plot_.from_zero ? 0 : INFINITY, high = plot_.from_zero ? 0 : -INFINITY;
    for (size_t point = 0; point < plot_.x.size(); ++point) {
      double sum = 0;
      for (const PlotSeries& series : plot_.series) {
        const double value = series.values[point];
        if (std::isnan(value)) continue;
        sum = plot_.kind == PlotKind::Lines ? value : sum + value;
        low = std::min(low, sum);
        high = std::max(high, sum);
      }
    }
    if (plot_.limit) high = std::max(high, *plot_.limit);
    return std::isfinite(low) && std::isfinite(high) ? nice_range(low, high, false) : Range{};
  }

  double at_x(double x) const {
    return kLeft + (x - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight);
  }
  double at_y(double y) const {
    return kHeight - kBottom - (y - y_.low) / (y_.high - y_.low) * (kHeight - kTop - kBottom);
  }

  size_t colour_of(size_t index) const { return plot_.series[index].colour.value_or(index); }

  void draw_legend() {
    double x = kLeft;
    const auto add = [&](const std::string& swatch, const std::string& name) {
      text_ += swatch + fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"38\">{}</text>\n",
                                    x + 16, escape_html(name));
      x += 34 + 6.7 * static_cast<double>(name.size());
    };
    for (size_t i = 0; i < plot_.series.size(); ++i)
      add(fmt::format(
              "<rect class=\"fill{}\" x=\"{:.1f}\" y=\"28\" width=\"11\" height=\"11\" rx=\"2\"/>",
              colour_of(i), x),
          plot_.series[i].name);
    if (plot_.limit)
      add(fmt::format("<path class=\"limit\" d=\"M{:.1f} 34h11\"/>", x), plot_.limit_name);
  }

  void draw_axes() {
    for (double y = y_.low; y <= y_.high + y_.tick / 2; y += y_.tick)
      text_ += fmt::format(
          "<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text class=\"tick end\" x=\"{:.1f}\" "
          "y=\"{:.1f}\">{}</text>\n",
          kLeft, at_y(y), kWidth - kRight, kLeft - 6, at_y(y) + 4, number_text(y));
    if (bars_)
      label_bars();
    else
      for (double x = std::ceil(x_.low / x_.tick) * x_.tick; x <= x_.high + 1e-9; x += x_.tick)
        label_x(x, x);
    text_ += fmt::format(
        "<text class=\"label mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n"
        "<text class=\"label mid\" transform=\"translate(14 {:.1f}) rotate(-90)\">{}</text>\n",
        (kLeft + kWidth - kRight) / 2, kHeight - 8, escape_html(plot_.x_label),
        (kTop + kHeight - kBottom) / 2, escape_html(plot_.y_label));
  }

  void label_x(double x, double number) {
    text_ += fmt::format("<text class=\"tick mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", at_x(x),
                         kHeight - kBottom + 17, number_text(number));
  }

  void label_bars() {
    const size_t every = (plot_.x.size() + 15) / 16;
    for (size_t i = 0; i < plot_.x.size(); i += every) label_x(static_cast<double>(i), plot_.x[i]);
  }

  void draw_line(size_t index) {
    const std::vector<double>& values = plot_.series[index].values;
    std::string path;
    size_t points = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) continue;
      path += fmt::format("{}{:.1f} {:.1f}", points++ == 0 ? "M" : "L", at_x(plot_.x[i]),
                          at_y(values[i]));
      if (points_are_few(values))
        text_ += fmt::format("<circle class=\"fill{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>",
                             colour_of(index), at_x(plot_.x[i]), at_y(values[i]));
    }
    if (points > 0)
      text_ += fmt::format("<path class=\"line line{}\" d=\"{}\"/>\n", colour_of(index), path);
  }

  static bool points_are_few(const std::vector<double>& values) {
    constexpr std::ptrdiff_t kFew = 24;
    return std::count_if(values.begin(), values.end(),
                         [](double value) { return !std::isnan(value); }) <= kFew;
  }

  void draw_area(size_t index, std::vector<double>& below) {
    if (plot_.x.empty()) return;
    std::string path;
    const auto add = [&](size_t i) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at_x(plot_.x[i]),
                          at_y(below[i]));
    };
    for (size_t i = plot_.x.size(); i-- > 0;) add(i);  // back along the lower edge
    for (size_t i = 0; i < plot_.x.size(); ++i) {
      const double value = plot_.series[index].values[i];
      if (!std::isnan(value)) below[i] += value;
      add(i);
    }
    text_ += fmt::format("<path class=\"fill{}\" d=\"{}Z\"/>\n", colour_of(index), path);
  }

  void draw_bars(size_t index, std::vector<double>& below) {
    const double width = std::min(48.0, 0.8 * (at_x(1) - at_x(0)));
    for (size_t i = 0; i < plot_.x.size(); ++i) {
      const double value = plot_.series[index].values[i];
      if (std::isnan(value) || value <= 0) continue;
      const double top = at_y(below[i] + value);
      text_ += fmt::format(
          "<rect class=\"fill{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
          colour_of(index), at_x(static_cast<double>(i)) - width / 2, top, width,
          at_y(below[i]) - top);
      below[i] += value;
    }
  }

  void draw_limit() {
    if (plot_.limit)
      text_ += fmt::format("<path class=\"limit\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft,
                           at_y(*plot_.limit), kWidth - kRight);
  }

  const Plot& plot_;
  bool bars_;
  Range x_, y_;
  std::string text_;
};

}  // namespace

std::string draw(const Plot& plot) { return Drawing(plot).draw(); }

std::string plot_style() {
  std::string text =
      ".plot{max-width:100%;height:auto;display:block;margin:1.2em 0}"
      ".plot text{font:12px system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif;"
      "fill:var(--soft)}.plot .title{font-size:14px;font-weight:600;fill:var(--ink)}"
      ".plot .end{text-anchor:end}.plot .mid{text-anchor:middle}"
      ".plot .grid{stroke:var(--rule);fill:none}.plot .line{fill:none;stroke-width:1.8;"
      "stroke-linejoin:round}.plot .limit{stroke:var(--bad);stroke-dasharray:5 4;"
      "stroke-width:1.5;fill:none}\n";
  for (int i = 0; i < 5; ++i)
    text +=
        fmt::format(".plot .fill{0}{{fill:var(--c{0})}}.plot .line{0}{{stroke:var(--c{0})}}\n", i);
  return text;
}

Plot thinned(Plot plot, size_t most) {
  const size_t points = plot.x.size();
  if (points <= most) return plot;
  const auto mean_of = [&](const std::vector<double>& values) {
    std::vector<double> means;
    for (size_t bucket = 0; bucket < most; ++bucket) {
      double sum = 0;
      int count = 0;
      for (size_t i = bucket * points / most; i < (bucket + 1) * points / most; ++i)
        if (!std::isnan(values[i])) {
          sum += values[i];
          ++count;
        }
      means.push_back(count > 0 ? sum / count : NAN);
    }
    return means;
  };
  plot.x = mean_of(plot.x);
  for (PlotSeries& series : plot.series) series.values = mean_of(series.values);
  return plot;
}

}  // namespace tessera
