// SPDX-License-Identifier: Apache-2.0
#include "simulation.h"

#include <array>

#include "bindings.h"
#include "config/island_config.h"
#include "core/choices.h"
#include "core/error.h"
#include "run_arguments.h"
#include "studio/pictures/pictures.h"
#include "studio/run_on_cluster.h"

namespace tessera {

AskedSimulation::AskedSimulation(const Config& config, const Cluster& cluster, StepOptions options,
                                 std::vector<std::string> warnings)
    : options_(std::move(options)), warnings_(std::move(warnings)) {
  const RunSpec spec = spec_to_simulate(cluster, config);
  if (!options_.unit_cost)
    for (std::string& warning : warnings_on(cluster, spec, config))
      warnings_.push_back(std::move(warning));
  step_ = std::make_unique<SimulatedStep>(simulate_step(config, cluster, spec, options_));
}

void AskedSimulation::add_islands(const Config& all, const std::vector<int64_t>& every) {
  islands_ = simulate_islands(all, *step_, every, options_);
  step_->islands = true;
}

std::string AskedSimulation::title() const {
  const std::scoped_lock lock(mutex_);
  return title_of(*step_);
}

std::string AskedSimulation::json() const {
  const std::scoped_lock lock(mutex_);
  Json json = to_json(*step_);
  if (islands_) json["islands"] = to_json(*islands_);
  return sorted(std::move(json)).dump();
}

const SimulatedStep& AskedSimulation::with_slices() {
  if (!step_->options.keep_slices) {
    step_->options.keep_slices = true;
    simulate_compiled(*step_);
  }
  return *step_;
}

std::string AskedSimulation::picture(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const PictureRow& row : kPictures) {
    if (row.name == name) return row.draw(with_slices());
    names.emplace_back(row.name);
  }
  throw user_error("there is no picture {}", name)
      .at("picture")
      .help(fmt::format("use {}", join_choices(names)));
}

std::string AskedSimulation::trace() {
  const std::scoped_lock lock(mutex_);
  const SimulatedStep& step = with_slices();
  return to_trace_json(step.compiled.programs, step.simulation);
}

namespace {

namespace py = pybind11;

struct GivenSimulation {
  std::string cluster, load;
  bool per_node = false, cool = false;
  std::optional<std::array<double, 3>> unit_cost;
  std::vector<int64_t> islands_every;
};

StepOptions step_options(const GivenSimulation& given) {
  StepOptions options{.load = parse_load_model(given.load),
                      .copies = given.per_node ? RowCopies::PerNode : RowCopies::PerExpert,
                      .cool = given.cool};
  if (const auto& costs = given.unit_cost) {
    for (const double cost : *costs)
      if (!(cost >= 0))
        throw user_error("a cost of {} is below 0", cost)
            .at("unit_cost")
            .help("give forward, input gradient and weight gradient, such as (1, 1, 1)");
    options.unit_cost = UnitCost{(*costs)[0], (*costs)[1], (*costs)[2]};
  }
  return options;
}

std::unique_ptr<AskedSimulation> simulate_run(const RunSettings& run,
                                              const GivenSimulation& given) {
  // The cost of a schedule alone is the same on every cluster.
  const Cluster cluster = given.cluster.empty() && given.unit_cost
                              ? load_cluster("laptop")
                              : chosen_cluster(given.cluster, Mesh(run.load().mesh).num_ranks());
  const Config all = run.load(&cluster);
  if (!given.islands_every.empty() && islands_of(all) <= 1)
    throw UserError("islands_every is about islands, but the mesh has none")
        .at("islands_every")
        .help("add them to the mesh, such as mesh='island=3,fsdp=32'");
  auto simulation = std::make_unique<AskedSimulation>(one_island(all), cluster, step_options(given),
                                                      notes_on(all));
  if (islands_of(all) > 1) simulation->add_islands(all, given.islands_every);
  return simulation;
}

}  // namespace

void bind_simulation(py::module_& core) {
  using Release = py::call_guard<py::gil_scoped_release>;
  py::class_<AskedSimulation>(core, "Simulation")
      .def("json", &AskedSimulation::json, Release())
      .def("title", &AskedSimulation::title, Release())
      .def("warnings", &AskedSimulation::warnings)
      .def("picture", &AskedSimulation::picture, py::arg("name"), Release())
      .def("trace", &AskedSimulation::trace, Release());
  core.def(
      "simulate",
      [](const GivenFile& file, const GivenSettings& settings, const std::string& cluster,
         const std::string& load, bool per_node, bool cool,
         const std::optional<std::array<double, 3>>& unit_cost,
         const std::vector<int64_t>& islands_every) {
        return simulate_run(run_settings_of(file, settings), {.cluster = cluster,
                                                              .load = load,
                                                              .per_node = per_node,
                                                              .cool = cool,
                                                              .unit_cost = unit_cost,
                                                              .islands_every = islands_every});
      },
      py::arg("file"), py::arg("settings"), py::arg("cluster"), py::arg("load"),
      py::arg("per_node"), py::arg("cool"), py::arg("unit_cost"), py::arg("islands_every"),
      Release());
}

}  // namespace tessera
