// SPDX-License-Identifier: Apache-2.0
// Pictures that need no simulation: schedules, clusters, traces of runs, and curves over steps.
#include "studio/pictures/pictures.h"

#include <pybind11/stl.h>

#include <filesystem>

#include "bindings.h"
#include "core/error.h"
#include "files/small_file.h"
#include "report/plot_svg.h"
#include "schedule/check_schedule.h"
#include "schedule/schedule_drawing.h"
#include "schedule/schedule_kinds.h"
#include "studio/pictures/cluster_svg.h"
#include "studio/schedule_json.h"

namespace tessera {
namespace {

namespace py = pybind11;

std::string schedules_svg(const std::vector<std::string>& kinds, int stages, int microbatches,
                          const std::optional<int>& chunks, const std::vector<double>& costs) {
  const StageCosts each = stage_costs(costs);
  std::vector<TimedSchedule> all;
  for (const std::string& kind : kinds) {
    Schedule schedule =
        make_schedule(kind, stages, chunks ? *chunks : default_chunks(kind), microbatches);
    check_schedule(schedule);
    ScheduleTiming timing = time_schedule(schedule, each);
    all.push_back({std::move(schedule), std::move(timing)});
  }
  return draw_as_svg(all);
}

std::string trace_svg(const std::string& path, const std::string& picture) {
  const std::optional<std::string> text = find_small_file(path);
  const std::optional<Timeline> timeline =
      text ? timeline_of_trace(parse_json(*text)) : std::nullopt;
  if (!timeline)
    throw user_error("{} has no step of a trace", path)
        .help("give a file that train(trace=...) or `tessera train --trace` wrote");
  const std::string title = std::filesystem::path(path).filename().string();
  return picture == "block" ? draw_block(*timeline, title) : draw_step(*timeline, title);
}

// A plot takes its colours from its page; alone it brings them, on a white ground.
constexpr std::string_view kColours =
    ".plot{background:#fff;--ink:#1f2328;--soft:#59636e;--rule:#d1d9e0;--bad:#cf222e;--c0:#2f74c0;"
    "--c1:#d9822b;--c2:#8a6fc2;--c3:#2a9d6f;--c4:#8b949e}\n";

std::string curve_svg(const std::string& title, const std::string& y_label,
                      const std::vector<double>& x,
                      const std::vector<std::pair<std::string, std::vector<double>>>& series) {
  Plot plot{.title = title, .x_label = "step", .y_label = y_label, .x = x, .series = {}};
  for (const auto& [name, values] : series) {
    if (values.size() != x.size())
      throw user_error("{} has {} values for {} steps", name, values.size(), x.size())
          .at("series")
          .help("give one value for each step");
    plot.series.push_back({.name = name, .values = values});
  }
  plot.from_zero = false;
  constexpr size_t kMostPoints = 360;
  std::string svg = draw(thinned(std::move(plot), kMostPoints));
  svg.insert(svg.find('>') + 1, fmt::format("<style>{}{}</style>", kColours, plot_style()));
  return svg.insert(svg.find("class="), "xmlns=\"http://www.w3.org/2000/svg\" ");
}

}  // namespace

void bind_pictures(py::module_& core) {
  using Release = py::call_guard<py::gil_scoped_release>;
  core.def("draw_schedules", &schedules_svg, py::arg("kinds"), py::arg("stages"),
           py::arg("microbatches"), py::arg("chunks"), py::arg("costs"), Release());
  core.def("draw_trace", &trace_svg, py::arg("path"), py::arg("picture"), Release());
  core.def(
      "draw_cluster", [](const std::string& name) { return cluster_svg(load_cluster(name)); },
      py::arg("name"), Release());
  core.def("draw_curve", &curve_svg, py::arg("title"), py::arg("y_label"), py::arg("x"),
           py::arg("series"));
}

}  // namespace tessera
