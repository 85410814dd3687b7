// SPDX-License-Identifier: Apache-2.0
#include "studio/pictures/run_pictures.h"

#include <fstream>
#include <iterator>

#include "core/error.h"
#include "studio/pictures/pictures.h"
#include "studio/runs/run_plan.h"

namespace tessera {
namespace {

constexpr int64_t kMostTraceBytes = 512 << 20;
constexpr int kTraceDepth = 8;

std::optional<std::string> read_own_file(const std::filesystem::path& file, int64_t most_bytes) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(file, missing) ||
      std::filesystem::file_size(file, missing) > static_cast<uintmax_t>(most_bytes))
    return {};
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The one whose figures lie beside the run, else the built-in one that suits it best.
Cluster cluster_of_run(const RunRecord& record) {
  constexpr int64_t kMostClusterBytes = 1 << 20;
  if (const auto own = read_own_file(record.folder / "cluster.toml", kMostClusterBytes))
    return parse_cluster(*own, "cluster.toml");
  return load_cluster(
      fitting_cluster(*record.config, record.facts ? record.facts->device : std::string()));
}

// A trace that lies in the folder under the name of the config, or the usual one.
std::optional<Timeline> traced_step_of(const RunRecord& record) {
  const std::filesystem::path named = std::filesystem::path(record.config->run.trace).filename();
  const auto text =
      read_own_file(record.folder / (named.empty() ? "trace.json" : named), kMostTraceBytes);
  Json trace;
  if (!text || !parse_json(*text, kTraceDepth, trace).empty()) return {};
  return timeline_of_trace(trace);
}

std::vector<DocumentPicture> pictures_of_config(const RunRecord& record) {
  const std::optional<Timeline> traced = traced_step_of(record);
  const Cluster cluster = cluster_of_run(record);
  std::vector<DocumentPicture> pictures;
  if (traced)
    pictures.push_back({.heading = "A step as it ran",
                        .svg = draw_step(*traced, "the last step of the run's trace"),
                        .note = "From the run's own trace; times are the machine's."});
  const SimulatedStep step =
      simulate_step(*record.config, cluster, spec_to_simulate(cluster, *record.config),
                    {.check = false, .keep_slices = true});
  const std::string source =
      fmt::format("From the program of this config, simulated on cluster {}{}.", cluster.name,
                  cluster.calibrated ? "" : ", which was never calibrated");
  pictures.push_back({.heading = traced ? "The same step, simulated" : "A step",
                      .svg = draw_step(timeline_of(step), picture_title(step)),
                      .note = source});
  pictures.push_back({.heading = "Memory over the step", .svg = draw_memory(step), .note = {}});
  pictures.push_back({.heading = "The mesh", .svg = draw_mesh(step), .note = {}});
  pictures.push_back({.heading = "Bytes", .svg = draw_bytes(step), .note = {}});
  return pictures;
}

}  // namespace

std::vector<DocumentPicture> pictures_of_run(const RunRecord& record) {
  if (!record.config) return {};
  try {
    return pictures_of_config(record);
  } catch (const UserError&) {
    return {};  // a config of another version, or a plan that this cluster is too small for
  }
}

}  // namespace tessera
