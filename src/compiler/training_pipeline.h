// SPDX-License-Identifier: Apache-2.0
// The two lists of passes: to train, and to run forward alone (generation, evaluation).
#pragma once

#include "compiler/pass_pipeline.h"
#include "core/device_profile.h"
#include "ir/optimizer.h"
#include "mesh/plan.h"
#include "schedule/schedule.h"

namespace tessera {

PassPipeline training_pipeline(const OptimizerOptions& optimizer, const Plan& plan,
                               const DeviceProfile& profile, const Schedule& schedule = {});
PassPipeline inference_pipeline(const Plan& plan, const DeviceProfile& profile,
                                const Schedule& schedule = {});

}  // namespace tessera
