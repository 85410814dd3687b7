// SPDX-License-Identifier: Apache-2.0
// A compiled step, which nothing runs: memory, passes, collectives, IR, Program, placements.
#include <algorithm>
#include <memory>

#include "bindings.h"
#include "checkpoint/snapshot.h"
#include "core/choices.h"
#include "ir/printer.h"
#include "models/model_size.h"
#include "run_arguments.h"
#include "studio/compiled_step.h"
#include "studio/placements_json.h"
#include "studio/run_on_cluster.h"

namespace tessera {
namespace {

namespace py = pybind11;

class AskedCompilation {
 public:
  explicit AskedCompilation(Config config)
      : config_(std::move(config)),
        spec_(resolve(config_)),
        compiled_(compile_beside_snapshot(spec_)) {}

  std::string json() const {
    return sorted(to_json(compiled_, parameter_count(spec_.model),
                          snapshot_bytes_of_rank(spec_, compiled_.programs)))
        .dump();
  }

  std::vector<std::string> passes() const {
    const PassPipeline pipeline = training_pipeline(spec_.optimizer, spec_.plan, {});
    std::vector<std::string> names;
    for (const Pass& pass : pipeline.passes()) names.emplace_back(pass.name);
    return names;
  }

  // After a pass, by compiling again; after the last one where none is named.
  std::string ir(const std::string& pass) const {
    if (pass.empty()) return print(compiled_.module);
    const std::vector<std::string> known = passes();
    if (std::ranges::count(known, pass) == 0)
      throw user_error("there is no pass {}", pass)
          .at("after")
          .help(fmt::format("use {}", join_choices(known)));
    std::string text;
    CompileStepOptions options;
    options.pipeline.after_pass = [&](int, const Pass& ran, const Module& module) {
      if (ran.name == pass) text = print(module);
    };
    compile_beside_snapshot(spec_, options);
    return text;
  }

  std::vector<std::string> programs() const {
    std::vector<std::string> texts;
    for (const Program& program : compiled_.programs) texts.push_back(print(program));
    return texts;
  }

  std::string placements(const std::optional<std::string>& tensor,
                         const std::string& cluster) const {
    const Cluster levels = cluster.empty() ? load_cluster("laptop") : chosen_cluster(cluster, 1);
    return sorted(placements_json(compiled_.programs, levels, tensor)).dump();
  }

  std::vector<std::string> notes() const { return notes_on(config_); }

 private:
  Config config_;
  RunSpec spec_;
  Compiled compiled_;
};

}  // namespace

void bind_compiled(py::module_& core) {
  using Release = py::call_guard<py::gil_scoped_release>;
  py::class_<AskedCompilation>(core, "Compiled")
      .def("json", &AskedCompilation::json, Release())
      .def("warnings", &AskedCompilation::notes)
      .def("passes", &AskedCompilation::passes)
      .def("ir", &AskedCompilation::ir, py::arg("after"), Release())
      .def("programs", &AskedCompilation::programs, Release())
      .def("placements", &AskedCompilation::placements, py::arg("tensor"), py::arg("cluster"),
           Release());
  core.def(
      "compile",
      [](const GivenFile& file, const GivenSettings& settings) {
        return std::make_unique<AskedCompilation>(run_settings_of(file, settings).load());
      },
      py::arg("file"), py::arg("settings"), Release());
}

}  // namespace tessera
