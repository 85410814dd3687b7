// SPDX-License-Identifier: Apache-2.0
// A plan against one rank, as `tessera verify` runs it.
#include "bindings.h"
#include "config/island_config.h"
#include "exec/device.h"
#include "interrupt.h"
#include "run_arguments.h"
#include "studio/verify_json.h"

namespace tessera {
namespace {

namespace py = pybind11;

struct GivenVerification {
  int steps = 2;
  bool shrink = false, show_ranks = false, force_routes = false;
};

// The maths is verified in fp64, where rounding hides no mistake, unless another precision was
// given beside the config.
DType verified_precision(const RunSettings& run, const Config& config) {
  if (!run.names("train.precision")) return DType::Fp64;
  for (const DType precision : {DType::Fp64, DType::Fp32, DType::Bf16})
    if (config.train.precision == name(precision)) return precision;
  throw user_error("a plan is verified in fp64, fp32 or bf16, not in {}", config.train.precision)
      .at("precision=" + config.train.precision)
      .help("leave it out: fp64 verifies the plan for every precision");
}

// JSON, and the verdict in words.
std::pair<std::string, std::string> verify_run(const RunSettings& run,
                                               const GivenVerification& given) {
  if (given.steps < 1 || given.steps > 1000)
    throw user_error("steps is {}", given.steps).at("steps").help("give 1 to 1000");
  require_no_launcher("verify");
  const Config config = run.load();
  const RunSpec spec = spec_to_verify(config, verified_precision(run, config), given.shrink);
  require_device(spec.device);
  Interrupt interrupt;
  if (islands_of(config) > 0) {
    if (spec.precision != Precision(DType::Fp64) || !is_host(spec.device) || given.force_routes ||
        given.show_ranks)
      throw UserError("islands are verified in fp64 on the CPU, without routing and show_ranks")
          .at("mesh.island")
          .help("leave these out, or verify the mesh without island");
    const VerifyIslandsReport report = verify_islands(
        spec,
        {.play = play_of(config, given.steps), .progress = [&](int) { return interrupt.none(); }});
    interrupt.rethrow();
    return {sorted(to_json(report)).dump(), report.equal() ? "equal" : "NOT equal"};
  }
  const VerifyReport report =
      verify_plan(spec, {.steps = given.steps,
                         .seed = static_cast<uint64_t>(config.train.seed),
                         .show_ranks = given.show_ranks,
                         .force_routes = given.force_routes,
                         .progress = [&](const VerifyProgress&) { return interrupt.none(); }});
  interrupt.rethrow();
  return {sorted(to_json(report)).dump(), verdict_of(report)};
}

}  // namespace

void bind_verification(py::module_& core) {
  core.def(
      "verify",
      [](const GivenFile& file, const GivenSettings& settings, int steps, bool shrink,
         bool show_ranks, bool force_routes) {
        return verify_run(run_settings_of(file, settings), {.steps = steps,
                                                            .shrink = shrink,
                                                            .show_ranks = show_ranks,
                                                            .force_routes = force_routes});
      },
      py::arg("file"), py::arg("settings"), py::arg("steps"), py::arg("shrink"),
      py::arg("show_ranks"), py::arg("force_routes"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace tessera
