// SPDX-License-Identifier: Apache-2.0
#include "sim/error_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace tessera {
namespace {

constexpr std::array kErrorBars{
#define ERROR_BAR(device, reach, stages, runs, percent) \
  ErrorBar{device, reach, stages, runs, percent},
#define KIND_BAR(kind, runs, percent)
#include "sim/error_bars.def"
#undef KIND_BAR
#undef ERROR_BAR
};

constexpr std::array kKindBars{
#define ERROR_BAR(device, reach, stages, runs, percent)
#define KIND_BAR(kind, runs, percent) KindBar{kind, runs, percent},
#include "sim/error_bars.def"
#undef KIND_BAR
#undef ERROR_BAR
};

// Devices of one generation have the same processors.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kDevices{
    {{"A100", "A100"}, {"A800", "A100"}, {"H100", "H100"}, {"H200", "H100"}, {"H800", "H100"}}};

std::string_view words_of(std::string_view reach) {
  return reach == "one" ? "one device" : reach == "node" ? "one node" : "several nodes";
}

}  // namespace

const KindBar* find_kind_bar(std::string_view kind) {
  const auto* found = std::ranges::find(kKindBars, kind, &KindBar::kind);
  return found == kKindBars.end() ? nullptr : found;
}

std::optional<ErrorBar> nearest_error_bar(const Cluster& cluster, const Mesh& mesh) {
  std::string_view device;
  for (const auto& [part, generation] : kDevices)
    if (cluster.device.name.find(part) != std::string::npos) device = generation;
  const int ranks = mesh.num_ranks(), stage_axis = mesh.find("pp");
  const std::string_view reach = ranks == 1                              ? "one"
                                 : ranks <= cluster.levels.front().ranks ? "node"
                                                                         : "nodes";
  const bool stages = stage_axis >= 0 && mesh.size(stage_axis) > 1;
  std::optional<ErrorBar> best;
  std::tuple<bool, bool> least;
  for (const ErrorBar& each : kErrorBars) {
    if (each.device != device) continue;
    const std::tuple apart{each.reach != reach, each.stages != stages};
    if (best && !(apart < least)) continue;
    best = each;
    least = apart;
  }
  return best;
}

std::string error_bar_text(const Cluster& cluster, const Mesh& mesh) {
  const std::optional<ErrorBar> bar = nearest_error_bar(cluster, mesh);
  if (!bar)
    return fmt::format(
        "no published run on a device like {} was compared: how far this is off is "
        "not known",
        cluster.device.name);
  return fmt::format("8 of 10 of {} published runs like this ({}, {}{}) were predicted within {} %",
                     bar->runs, bar->device, words_of(bar->reach), bar->stages ? ", stages" : "",
                     bar->percent);
}

}  // namespace tessera
