// SPDX-License-Identifier: Apache-2.0
// The search for a plan, as `tessera plan` makes it: its answer, and each plan that it ranks as a
// config.
#include <algorithm>
#include <memory>

#include "bindings.h"
#include "config/run_spec.h"
#include "core/choices.h"
#include "interrupt.h"
#include "plans_svg.h"
#include "run_arguments.h"
#include "sim/cluster_warnings.h"
#include "simulation.h"
#include "studio/island_offer.h"
#include "studio/plan_search.h"
#include "studio/planned_run.h"
#include "studio/run_on_cluster.h"

namespace tessera {
namespace {

namespace py = pybind11;

struct GivenSearch {
  std::string cluster;
  int ranks = 0;  // those of the config's mesh
  size_t trials = 0;
  std::vector<std::string> also, why_not;
};

class AskedPlan {
 public:
  AskedPlan(Config config, PlanTask task, SearchResult found, std::vector<WhyNot> reasons,
            std::optional<IslandOffer> offer)
      : config_(std::move(config)),
        task_(std::move(task)),
        found_(std::move(found)),
        reasons_(std::move(reasons)),
        offer_(std::move(offer)) {
    warnings_ = unlikely_figures(task_.cluster);
    for (std::string& each : near_axes_across_nodes(
             task_.cluster, Mesh(found_.ranked.front().candidate.axes.above_one())))
      warnings_.push_back(std::move(each));
  }

  std::string json() const {
    Json json = to_json(config_, task_, found_);
    for (const WhyNot& why : reasons_) json["why_not"].push_back(to_json(why));
    if (offer_) json["islands"] = to_json(*offer_);
    return sorted(std::move(json)).dump();
  }

  std::string toml(size_t place) const { return to_toml(config_of(place)); }

  std::unique_ptr<AskedSimulation> simulation(size_t place) const {
    return std::make_unique<AskedSimulation>(config_of(place), task_.cluster, StepOptions{},
                                             std::vector<std::string>{});
  }

  std::string why_not(const std::string& knobs) const {
    return sorted(to_json(tessera::why_not(task_, found_.ranked, knobs))).dump();
  }

  std::string svg() const {
    return plans_svg(found_.ranked,
                     fmt::format("{}, batch {} x {}, {}: {} ranks on {}", model_title(config_),
                                 task_.run.batch(), task_.run.seq(), config_.train.precision,
                                 task_.ranks, task_.cluster.name));
  }

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Config config_of(size_t place) const {
    if (place >= found_.ranked.size())
      throw user_error("there is no plan {}: {} are ranked", place, found_.ranked.size())
          .at("place")
          .help("the best plan is 0");
    return planned_config(config_, task_, found_.ranked[place]);
  }

  Config config_;
  PlanTask task_;
  SearchResult found_;
  std::vector<WhyNot> reasons_;
  std::optional<IslandOffer> offer_;
  std::vector<std::string> warnings_;
};

void check_choices(const std::vector<std::string>& also) {
  const std::vector<std::string> known{"fp8", "offload", "tp_overlap"};
  for (const std::string& each : also)
    if (std::ranges::count(known, each) == 0)
      throw user_error("a search cannot also try {}", each)
          .at("also")
          .help(fmt::format("use any of {}", join_choices(known)));
}

std::unique_ptr<AskedPlan> plan_run(const RunSettings& run, const GivenSearch& given) {
  check_choices(given.also);
  const int ranks = given.ranks > 0 ? given.ranks : Mesh(run.load().mesh).num_ranks();
  const Cluster cluster = chosen_cluster(given.cluster, ranks);
  const Config config = run.load(&cluster);
  const auto names = [&](std::string_view key) { return run.names(key); };
  PlanTask task = make_plan_task(config, cluster, ranks, names);
  task.tries_fp8 = std::ranges::count(given.also, "fp8") > 0;
  task.tries_rings = std::ranges::count(given.also, "tp_overlap") > 0;
  task.tries_offload = std::ranges::count(given.also, "offload") > 0;
  for (const std::string& text : given.why_not) parse_candidate(text, {});  // before the search
  Interrupt interrupt;
  const auto search_for = [&](const PlanTask& each) {
    SearchResult found =
        search(each, {.most_trials = given.trials > 0 ? given.trials : SearchOptions{}.most_trials,
                      .progress = [&](const SearchProgress&) { return interrupt.none(); }});
    interrupt.rethrow();
    return found;
  };
  SearchResult found = search_for(task);
  if (found.ranked.empty()) throw no_plan(task, found);
  std::vector<WhyNot> reasons;
  for (const std::string& text : given.why_not)
    reasons.push_back(why_not(task, found.ranked, text));
  auto offer = offer_islands(config, task, names, search_for);
  return std::make_unique<AskedPlan>(config, std::move(task), std::move(found), std::move(reasons),
                                     std::move(offer));
}

}  // namespace

void bind_plan(py::module_& core) {
  using Release = py::call_guard<py::gil_scoped_release>;
  py::class_<AskedPlan>(core, "Plan")
      .def("json", &AskedPlan::json, Release())
      .def("warnings", &AskedPlan::warnings)
      .def("toml", &AskedPlan::toml, py::arg("place"))
      .def("simulation", &AskedPlan::simulation, py::arg("place"), Release())
      .def("why_not", &AskedPlan::why_not, py::arg("knobs"), Release())
      .def("svg", &AskedPlan::svg);
  core.def(
      "plan",
      [](const GivenFile& file, const GivenSettings& settings, const std::string& cluster,
         int ranks, size_t trials, const std::vector<std::string>& also,
         const std::vector<std::string>& why_not) {
        return plan_run(run_settings_of(file, settings), {.cluster = cluster,
                                                          .ranks = ranks,
                                                          .trials = trials,
                                                          .also = also,
                                                          .why_not = why_not});
      },
      py::arg("file"), py::arg("settings"), py::arg("cluster"), py::arg("ranks"), py::arg("trials"),
      py::arg("also"), py::arg("why_not"), Release());
}

}  // namespace tessera
