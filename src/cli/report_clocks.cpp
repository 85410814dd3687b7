// SPDX-License-Identifier: Apache-2.0
#include "cli/report_clocks.h"

#include <filesystem>

#include "cli/run_options.h"
#include "report/figure_text.h"
#include "studio/answers.h"
#include "studio/runs/run_folders.h"

namespace tessera {
namespace {

constexpr size_t kRowsShown = 15;

double seconds_of(const Json& json, std::string_view name) { return *json.find(name)->number(); }

std::string signed_text(double seconds) {
  return fmt::format("{}{}", seconds < 0 ? "-" : "+", seconds_text(std::abs(seconds)));
}

// The answer without its timelines, each difference with the name of its instruction.
Json figures_of_clocks(const Json& told) {
  Json json = Json::object();
  for (const char* kept : {"cluster", "calibrated", "step", "measured_seconds", "simulated_seconds",
                           "outside_seconds", "measured_ranks", "aligned_slices", "unaligned"})
    json[kept] = *told.find(kept);
  json["results"] = Json::array();
  for (const Json& row : told.find("differences")->items()) {
    const Json& about = told.find("instructions")
                            ->items()[static_cast<size_t>(*row.find("instruction")->integer())];
    Json named = Json::object();
    for (const char* name : {"op", "name", "class", "routine", "index"})
      named[name] = *about.find(name);
    for (const JsonMember& member : row.members())
      if (member.name != "instruction") named[member.name] = member.value;
    json["results"].push_back(std::move(named));
  }
  return json;
}

void print_text(const Json& json) {
  const double measured = seconds_of(json, "measured_seconds"),
               simulated = seconds_of(json, "simulated_seconds");
  const Json& unaligned = *json.find("unaligned");
  fmt::print("step {} of the trace: measured {}, simulated {} on {} ({})\n",
             *json.find("step")->integer(), seconds_text(measured), seconds_text(simulated),
             *json.find("cluster")->text(),
             *json.find("calibrated")->flag() ? "calibrated" : "not calibrated");
  fmt::print(
      "{} slices are instructions of the program, {} are not; {} a rank lie between "
      "instructions\n\n",
      *json.find("aligned_slices")->integer(), *unaligned.find("unknown_slices")->integer(),
      seconds_text(seconds_of(json, "outside_seconds")));
  fmt::print("{:>12} {:>12} {:>12} {:>8}  instruction\n", "difference", "measured", "simulated",
             "slices");
  size_t shown = 0;
  for (const Json& row : json.find("results")->items()) {
    if (*row.find("hidden")->flag() || ++shown > kRowsShown) break;  // transfers beside kernels
    fmt::print("{:>12} {:>12} {:>12} {:>8}  {}, {}.{} {}\n",
               signed_text(seconds_of(row, "difference_seconds")),
               seconds_text(seconds_of(row, "measured_seconds")),
               seconds_text(seconds_of(row, "simulated_seconds")),
               *row.find("measured_slices")->integer(), *row.find("op")->text(),
               *row.find("class")->text(), *row.find("routine")->text(), *row.find("name")->text());
  }
}

}  // namespace

void print_clocks(const std::string& folder, bool json) {
  const RunFolders folders({folder});
  std::string id;
  for (const FoundRun& run : folders.find_all())
    if (run.path == std::filesystem::path(folder)) id = run.id;
  if (id.empty())
    throw user_error("{} holds no run", folder)
        .help("give the folder that `tessera train --out` wrote");
  const Json told =
      figures_of_clocks(ask("clocks", {.fields = {{"run", id}}, .runs = &folders}).json);
  if (json)
    print_json(told);
  else
    print_text(told);
}

}  // namespace tessera
