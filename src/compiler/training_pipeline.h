// SPDX-License-Identifier: Apache-2.0
// The two lists of passes: to train, and to run forward alone (generation, evaluation); and what
// compile() does after them.
#pragma once

#include <span>
#include <string_view>

#include "compiler/pass_pipeline.h"
#include "core/device_kind.h"
#include "ir/optimizer.h"
#include "mesh/plan.h"
#include "schedule/schedule.h"

namespace tessera {

PassPipeline training_pipeline(const OptimizerOptions& optimizer, const Plan& plan,
                               const DeviceProfile& profile, const Schedule& schedule = {});
PassPipeline inference_pipeline(const Plan& plan, const DeviceProfile& profile,
                                const Schedule& schedule = {});

// From the planned module to a checked Program, for people who look for the place: in order.
struct EmissionStep {
  std::string_view name, file, summary;
};
std::span<const EmissionStep> emission_steps();

}  // namespace tessera
