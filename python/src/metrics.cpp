// SPDX-License-Identifier: Apache-2.0
// The record of a run as columns: a NumPy array for each figure of its steps, NaN where a step has
// none.
#include <pybind11/stl.h>

#include <cmath>

#include "arrays.h"
#include "bindings.h"
#include "record/run_record.h"

namespace tessera {
namespace {

namespace py = pybind11;

py::dict columns_of(const RunRecord& record) {
  py::dict columns;
  std::vector<int64_t> steps;
  for (const StepRecord& step : record.steps) steps.push_back(step.step);
  columns["step"] = moved_array(std::move(steps));
  for (const StepField& field : step_fields()) {
    std::vector<double> values;
    bool any = false;
    for (const StepRecord& step : record.steps) {
      values.push_back(field.of(step));
      any = any || !std::isnan(values.back());
    }
    if (any || field.always) columns[field.key] = moved_array(std::move(values));
  }
  return columns;
}

py::list events_of(const RunRecord& record) {
  py::list events;
  for (const RecordedEvent& event : record.events) {
    py::dict each;
    each["event"] = event.kind;
    each["step"] = event.step;
    each["seconds"] = event.seconds;
    each["bytes"] = event.bytes;
    each["elapsed_seconds"] = event.elapsed_seconds;
    each["text"] = event.text;
    events.append(each);
  }
  return events;
}

}  // namespace

void bind_metrics(py::module_& core) {
  core.def(
      "metrics",
      [](const std::string& folder) {
        std::optional<RunRecord> record;
        {
          const py::gil_scoped_release release;
          record = read_run(folder);
        }
        const std::string facts = record->facts ? to_json(*record->facts).dump() : "null";
        return py::make_tuple(columns_of(*record), events_of(*record), facts,
                              record->config ? to_toml(*record->config) : "");
      },
      py::arg("folder"));
}

}  // namespace tessera
