// SPDX-License-Identifier: Apache-2.0
// The module tessera._core: what each file adds to it. Answers cross as the JSON that the command
// line prints; python/tessera gives them their Python form.
#pragma once

#include <pybind11/pybind11.h>

namespace tessera {

void bind_errors();
void bind_answers(pybind11::module_& core);
void bind_simulation(pybind11::module_& core);
void bind_plan(pybind11::module_& core);
void bind_compiled(pybind11::module_& core);
void bind_verification(pybind11::module_& core);
void bind_step(pybind11::module_& core);
void bind_training(pybind11::module_& core);
void bind_stored(pybind11::module_& core);
void bind_metrics(pybind11::module_& core);
void bind_pictures(pybind11::module_& core);

}  // namespace tessera
