// SPDX-License-Identifier: Apache-2.0
// The table of questions that Studio asks (src/studio/answers.h), open to Python.
#include "studio/answers.h"

#include "bindings.h"
#include "pybind11/stl.h"

namespace tessera {

namespace py = pybind11;

void bind_answers(py::module_& core) {
  core.def(
      "ask",
      [](const std::string& kind, const std::string& fields) {
        Answer answer;
        {
          const py::gil_scoped_release release;
          answer = ask(kind, parse_question(fields));
        }
        return std::make_pair(sorted(std::move(answer.json)).dump(), py::bytes(answer.columns));
      },
      py::arg("kind"), py::arg("fields"));
  core.def("questions", [] {
    std::vector<std::pair<std::string, std::string>> kinds;
    for (const QuestionKind& kind : question_kinds()) kinds.emplace_back(kind.name, kind.summary);
    return kinds;
  });
}

}  // namespace tessera
