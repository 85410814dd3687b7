// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient/build_forward.h"

#include "passes/gradient/bundle_flats.h"
#include "passes/gradient/bundle_parameters.h"
#include "passes/gradient/step_totals.h"

namespace tessera {
namespace {

// Unsharded weights need no bundle: each parameter has its own buffer.
int64_t gather_sharded_weights(Module& module, const Plan& plan) {
  if (plan.zero < 3) return 0;
  int64_t bundles = 0;
  for (BlockClass& block_class : module.classes)
    for (const BundlePlan& found : bundle_weights(block_class, plan)) {
      if (found.bundle.rest.empty()) continue;
      gather_at_rest(block_class, found.bundle, found.dtype, plan.mesh.word(found.bundle.rest));
      ++bundles;
    }
  return bundles;
}

}  // namespace

Pass build_forward(Plan plan) {
  return {.name = "build_forward",
          .summary = "adds what inference needs on several ranks: gathers of weights, totals",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [plan = std::move(plan)](Module& module) {
            const int64_t bundles = gather_sharded_weights(module, plan);
            append_forward_totals(module, plan);
            return PassCounts{{"gathered bundles", bundles}};
          }};
}

}  // namespace tessera
