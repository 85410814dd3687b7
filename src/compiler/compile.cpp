// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include "compiler/emit_program.h"
#include "ir/verifier.h"
#include "program/check_program.h"

namespace tessera {

Compiled compile(Module module, const CompileOptions& options) {
  if (options.microbatches < 1)
    throw user_error("microbatches is {}: use 1 or more", options.microbatches);
  if (module.blocks.empty()) throw user_error("module {} has no blocks", module.name);
  verify(module);
  const PassPipeline pipeline =
      options.training ? training_pipeline(options.optimizer, options.plan, options.profile)
                       : inference_pipeline(options.profile);
  Compiled compiled{.module = std::move(module), .program = {}, .passes = {}};
  compiled.passes = pipeline.run(compiled.module, options.pipeline);
  if (compiled.module.form == Form::Planned)
    compiled.program = emit_program(compiled.module, {.microbatches = options.microbatches,
                                                      .threads = options.profile.threads,
                                                      .shard_axis = options.plan.shard_axis,
                                                      .zigzag = options.plan.zigzag});
  if (!compiled.program.classes.empty()) check_memory(compiled.program);
  return compiled;
}

}  // namespace tessera
