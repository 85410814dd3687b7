// SPDX-License-Identifier: Apache-2.0
// One step of a run, as a callback gets it: every figure of metrics.jsonl, by the table of fields.
// None: not known of this step.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "bindings.h"
#include "record/step_record.h"

namespace tessera {
namespace {

namespace py = pybind11;

py::object figure(const StepRecord& record, const StepField& field) {
  const double value = field.of(record);
  return std::isnan(value) ? py::object(py::none()) : py::object(py::float_(value));
}

}  // namespace

void bind_step(py::module_& core) {
  py::class_<StepRecord> step(core, "Step", "One step of a run; None: not known of this step.");
  step.def_readonly("step", &StepRecord::step);
  for (const StepField& field : step_fields())
    step.def_property_readonly(
        field.key,
        py::cpp_function([field](const StepRecord& record) { return figure(record, field); },
                         py::is_method(step)));
  step.def_property_readonly("expert_loads", [](const StepRecord& record) {
    py::list layers;
    for (const ExpertLoad& load : record.loads) {
      py::list counts;
      for (const auto count : load.counts) counts.append(count);
      layers.append(counts);
    }
    return layers;
  });
  // dict(step) has what is known of it, as its line of metrics.jsonl.
  step.def("keys", [](const StepRecord& record) {
    py::list known;
    known.append("step");
    for (const StepField& field : step_fields())
      if (field.always || !std::isnan(field.of(record))) known.append(field.key);
    return known;
  });
  step.def(
      "__getitem__",
      [](const StepRecord& record, const std::string& name) -> py::object {
        if (name == "step") return py::int_(record.step);
        for (const StepField& field : step_fields())
          if (name == field.key) return figure(record, field);
        throw py::key_error(name);
      },
      py::arg("name"));
  step.def("__repr__", [](const StepRecord& record) {
    return fmt::format("<tessera step {}: loss {:.6g}>", record.step, record.loss);
  });
  step.def("to_json", [](const StepRecord& record) { return to_json_line(record); });
  py::list names;
  names.append("step");
  for (const StepField& field : step_fields()) names.append(field.key);
  core.attr("STEP_FIELDS") = py::tuple(names);
}

}  // namespace tessera
