// SPDX-License-Identifier: Apache-2.0
// The entry of tessera._core. It holds no state: everything lives in the objects that it returns.
#include "bindings.h"

PYBIND11_MODULE(_core, core) {
  core.doc() = "The C++ library of Tessera; use the package tessera.";
  core.attr("__version__") = TESSERA_VERSION;
  tessera::bind_errors();
  tessera::bind_answers(core);
  tessera::bind_simulation(core);
  tessera::bind_plan(core);
  tessera::bind_compiled(core);
  tessera::bind_verification(core);
  tessera::bind_step(core);
  tessera::bind_training(core);
  tessera::bind_stored(core);
  tessera::bind_metrics(core);
  tessera::bind_pictures(core);
}
