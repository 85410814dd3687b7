// SPDX-License-Identifier: Apache-2.0
#include "config/compile_step.h"

#include "models/build_model.h"

namespace tessera {

Compiled compile(const RunSpec& spec, const CompileStepOptions& options) {
  return compile(build_model(spec.model, spec.microbatch, spec.precision, HeadKind::Loss),
                 {.training = options.training,
                  .optimizer = spec.optimizer,
                  .plan = spec.plan,
                  .profile = {.threads = spec.threads_per_rank(),
                              .memory_bytes = spec.memory_bytes,
                              .flops_per_host_byte = options.flops_per_host_byte.value_or(
                                  flops_per_host_byte(spec.device))},
                  .microbatches = spec.microbatches,
                  .pipeline = options.pipeline,
                  .check = options.check});
}

}  // namespace tessera
