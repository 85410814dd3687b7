// SPDX-License-Identifier: Apache-2.0
// The compiler on one page: the passes, in order, then emission. Each pass is one file under
// src/passes/.
#include "compiler/training_pipeline.h"

#include "passes/fusion/fold_largest_entries.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/join_norm_gradients.h"
#include "passes/fusion/join_rebuilt_swiglu.h"
#include "passes/gradient/build_backward.h"
#include "passes/gradient/build_forward.h"
#include "passes/gradient/count_loads.h"
#include "passes/gradient/gradient_norm.h"
#include "passes/gradient/group_parameters.h"
#include "passes/gradient/hold_updates.h"
#include "passes/gradient/shard_states.h"
#include "passes/gradient/update_parameters.h"
#include "passes/memory/plan_memory.h"
#include "passes/offload/offload_activations.h"
#include "passes/offload/offload_gradients.h"
#include "passes/offload/offload_states.h"
#include "passes/overlap/overlap.h"
#include "passes/overlap/ring_matmuls.h"
#include "passes/pipeline/assign_stages.h"
#include "passes/placement/localize.h"
#include "passes/placement/propagate_placements.h"
#include "passes/placement/size_pools.h"
#include "passes/precision/quantize_before_gather.h"
#include "passes/precision/use_fp8.h"
#include "passes/recompute/recompute.h"

namespace tessera {

PassPipeline training_pipeline(const OptimizerOptions& optimizer, const Plan& plan,
                               const DeviceProfile& profile, const Schedule& schedule) {
  PassPipeline pipeline(Form::Maths);
  // What moves which parameter.
  pipeline.add(group_parameters(optimizer));
  // Which rank has which blocks.
  pipeline.add(assign_stages(plan, schedule, profile));  // by cost, or as the user says
  // The maths of a whole step, as if on one device.
  pipeline.add(size_pools(plan));  // as many rows of experts as could come to one rank
  pipeline.add(build_backward());  // gradients, from each op's own rule
  // Who does what, over the mesh.
  pipeline.add(propagate_placements(plan));  // where every value lives
  pipeline.add(localize(plan));              // local sizes, collectives, hops
  pipeline.add(count_loads(plan));           // tokens of each expert, over microbatches and ranks
  pipeline.add(use_fp8(plan));               // 8-bit operands, if asked for, each made once
  // What is kept from forward to backward, and what is rebuilt.
  pipeline.add(recompute(plan, profile));
  // Fewer, larger kernels.
  pipeline.add(fuse());  // bias, activation, sum, GELU's gradient join a matmul, if not pending
  pipeline.add(join_norm_gradients());         // with what comes along the residual connection
  pipeline.add(join_rebuilt_swiglu());         // a recomputed SwiGLU comes with its gradient
  pipeline.add(quantize_before_gather(plan));  // so that 8 bits travel
  pipeline.add(fold_largest_entries());  // that scale 8-bit operands: found by who makes a value
  pipeline.add(ring_matmuls(plan));      // pieces that travel while others are multiplied
  pipeline.add(
      offload_activations(plan, profile));  // what the backward reads: to the host and back
  // States at rest.
  pipeline.add(shard_states(plan));                  // gathers of weights, sums of gradients
  pipeline.add(gradient_norm(plan));                 // by which the update clips
  pipeline.add(hold_updates(plan));                  // where experts had too little room
  pipeline.add(update_parameters(optimizer, plan));  // the optimizer and its slots
  pipeline.add(offload_gradients(plan));             // copies of what rests on the host
  pipeline.add(offload_states(plan));                // likewise
  pipeline.add(overlap());                           // collectives start early, are waited for late
  // Which bytes, where.
  pipeline.add(plan_memory(profile));  // last: a buffer lives until its last reader
  return pipeline;                     // compile() then emits the Program: see below
}

PassPipeline inference_pipeline(const Plan& plan, const DeviceProfile& profile,
                                const Schedule& schedule) {
  PassPipeline pipeline(Form::Maths);
  pipeline.add(assign_stages(plan, schedule, profile));
  Plan worst = plan;  // nobody repeats a forward
  worst.expert_room = std::numeric_limits<double>::infinity();
  pipeline.add(size_pools(std::move(worst)));
  pipeline.add(propagate_placements(plan));
  pipeline.add(localize(plan));
  pipeline.add(use_fp8(plan));
  pipeline.add(fuse());
  pipeline.add(quantize_before_gather(plan));
  pipeline.add(fold_largest_entries());
  pipeline.add(ring_matmuls(plan));
  pipeline.add(build_forward(plan));
  pipeline.add(overlap());
  pipeline.add(plan_memory(profile));
  return pipeline;
}

std::span<const EmissionStep> emission_steps() {
  static constexpr EmissionStep kSteps[] = {
      {"emit_program", "src/compiler/emit_program.cpp",
       "makes the Program of one place along the pipeline: all steps but the checks"},
      {"translate_node", "src/compiler/translate_node.cpp",
       "turns a node into a typed instruction, and its axes into a group of ranks"},
      {"write_scripts", "src/compiler/scripts.cpp",
       "orders the calls of routines: the schedule's actions, messages between stages, reductions "
       "of gradients"},
      {"add_gathers", "src/compiler/script_gathers.cpp",
       "starts to gather sharded weights one call ahead of their use"},
      {"add_gradient_copies", "src/compiler/script_gradients.cpp",
       "brings gradients that rest on the host one call before they are needed, and sends them "
       "back"},
      {"decide_accumulation", "src/compiler/script_accumulation.cpp",
       "decides which call writes an accumulator; later ones add to it"},
      {"lay_out_arenas", "src/compiler/arena_layout.cpp",
       "sizes the arenas and binds the buffers of every block to offsets, by the next three"},
      {"StateLayout", "src/compiler/state_layout.cpp",
       "places parameters, gradients and optimizer states, whole or as shards of flat buffers"},
      {"lay_out_windows", "src/compiler/window_layout.cpp",
       "lets gathered weights and gradients that are never alive together share bytes"},
      {"lay_out_microbatches", "src/compiler/microbatch_layout.cpp",
       "places what each microbatch in flight keeps from its forward to its backward"},
      {"check_memory", "src/program/check_memory.cpp",
       "refuses a Program that reads what is not written, or touches what is in flight"},
      {"check_pipeline", "src/program/check_collectives.cpp",
       "refuses Programs of several stages that could deadlock or disagree on a collective"},
  };
  return kSteps;
}

}  // namespace tessera
