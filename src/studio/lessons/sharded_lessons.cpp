// SPDX-License-Identifier: Apache-2.0
// Lessons about sharded states: ZeRO 1 to 3 and HSDP.
#include "studio/lessons/break_program.h"
#include "studio/lessons/lesson.h"

namespace tessera {
namespace {

std::vector<LessonBreak> zero_1_breaks() {
  return {{"gather", "Do not gather the updated weights",
           "Each rank keeps its new quarter and the old three.",
           [](int, Program& p) { remove(p, "layer", RoutineKind::Update, "all_gather"); }},
          {"first", "Every rank updates the first quarter",
           "The slice of the weights is that of rank 0 on all ranks.",
           [](int, Program& p) {
             find_kernel(p, "layer", RoutineKind::Update, OpKind::take_shard).operands[1] =
                 add_rank_value(p, "layer", {});
           }},
          {"norm", "Clip by the norm of a quarter",
           "The squares are not summed over ranks, so each rank clips by its own.",
           [](int, Program& p) {
             leave_out(p, "norm_total", RoutineKind::NormReduce, CollectiveOp::AllReduce);
           }}};
}

Lesson zero_1_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "zero1",
      .title = "ZeRO 1",
      .summary = "The optimizer's state is shared out, at no more traffic than data parallel",
      .page = "docs/parallelism/sharded.md",
      .model = "tiny",
      .settings = {{"mesh", "dp=4"}, {"plan.zero", "1"}},
      .text = {"Data parallel keeps four equal copies of the optimizer's state, and each rank runs "
               "the same update. With ZeRO 1 each rank keeps a quarter of the state and updates a "
               "quarter of the weights.",
               "For that it needs a quarter of the summed gradients: the all_reduce becomes a "
               "reduce_scatter. The updated quarters then go to everybody by an all_gather. An "
               "all_reduce is made of just these two, so as many bytes move as before.",
               "What is cut is not a tensor but the flat buffer of a block, so no size has to be "
               "divisible by the number of ranks."},
      .stops = {{0, "layer", Reduce, "bundle0.reduced_1",
                 "reduce_scatter: of the sum of all gradients of the layer a rank gets its own "
                 "quarter."},
                {0, "norm_total", NormReduce, "norm_squares.total",
                 "The norm of the gradient needs every quarter once: one number is summed over "
                 "ranks."},
                {0, "layer", Update, "bundle0.own",
                 "The rank takes its quarter of the weights, which are whole on every rank."},
                {0, "layer", Update, "bundle0.new",
                 "The update of a quarter, with a quarter of the moments."},
                {0, "layer", Update, "bundle0.gathered",
                 "all_gather: the weights are whole again on every rank."}},
      .formulas = {{{SentBytes},
                    "bytes that a rank sends",
                    "(P + P + 3 x 16) (d-1)/d",
                    "P d",
                    [](const LessonSizes& s) { return (2 * s.P + 48) * (s.d - 1) / s.d; }},
                   {{OptimizerBytes},
                    "bytes of optimizer state on a rank",
                    "2 P / d",
                    "P d",
                    [](const LessonSizes& s) { return 2 * s.P / s.d; }},
                   {{GradientBytes},
                    "bytes of gradients on a rank",
                    "P",
                    "P",
                    [](const LessonSizes& s) { return s.P; }}},
      .guesses = {{"Two moments of 3,412,480 bytes each are shared by 4 ranks. How many bytes of "
                   "optimizer state does a rank keep?",
                   {OptimizerBytes},
                   "A quarter of both moments."}},
      .breaks = zero_1_breaks(),
  };
}

Lesson zero_2_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "zero2",
      .title = "ZeRO 2",
      .summary = "Gradients are shared out too: two blocks of them are whole at a time",
      .page = "docs/parallelism/sharded.md",
      .model = "tiny",
      .settings = {{"mesh", "dp=4"}, {"plan.zero", "2"}, {"train.microbatches", "2"}},
      .text = {"With ZeRO 1 a rank still keeps the gradients of the whole model until the step "
               "ends. With ZeRO 2 it keeps a quarter of their sum.",
               "As soon as a block's backward is done its gradients are reduced, and their memory "
               "serves another block: one block's gradients travel while the next one computes its "
               "own, so two are whole at a time.",
               "The price comes with microbatches: each of them reduces its gradients, where "
               "ZeRO 1 adds them up at home and reduces once."},
      .stops = {{0, "layer", Reduce, "bundle0.reduced_1",
                 "The gradients of this microbatch are reduced at once."},
                {0, "layer", ReduceWait, "bundle0.there",
                 "The wait comes when another block needs the memory of the whole gradient."},
                {0, "layer", ReduceWait, "bundle0.kept",
                 "Of each microbatch's sum the rank adds its quarter to the quarter that it "
                 "keeps."},
                {0, "layer", Update, "bundle0.gathered",
                 "Updated weights are gathered once a step, as with ZeRO 1."}},
      .formulas = {{{SentBytes},
                    "bytes that a rank sends",
                    "(m P + P + 3 x 16) (d-1)/d",
                    "m P d",
                    [](const LessonSizes& s) { return (s.m * s.P + s.P + 48) * (s.d - 1) / s.d; }},
                   {{GradientBytes},
                    "bytes of gradients on a rank",
                    "P / d + 2 Pl",
                    "P d Pl",
                    [](const LessonSizes& s) { return s.P / s.d + 2 * s.Pl; }}},
      .guesses = {{"The model has 3,412,480 bytes, a layer 787,456. How many bytes of gradients "
                   "does one of 4 ranks have room for?",
                   {GradientBytes},
                   "A quarter of the sum, and two layers that are not reduced yet."}},
      .breaks = {{"replace", "Replace the kept quarter",
                  "The second microbatch overwrites what the first one left.",
                  [](int, Program& p) { set_flags(p, RoutineKind::ReduceWait, 1, false); }},
                 {"adds", "Add to gradients that are reduced already",
                  "The whole gradient of the second microbatch is added to that of the first.",
                  [](int, Program& p) { set_flags(p, RoutineKind::Backward, 1, true); }}},
  };
}

std::vector<LessonBreak> zero_3_breaks() {
  return {
      {"block", "Skip the gathers of a layer",
       "The first layer runs without having asked for its weights.",
       [](int, Program& p) {
         std::erase_if(calls_of(p), [](const ScriptCall& call) {
           return call.routine == RoutineKind::Gather && call.block == 1;
         });
       }},
      {"wait", "Swap a wait and what it guards",
       "The first forward runs before the wait for its weights.",
       [](int, Program& p) { move_after(p, RoutineKind::GatherWait, 0, RoutineKind::Forward, 0); }},
      {"reduce", "Leave out a reduction",
       "Each rank keeps its part of its own gradient, not of the sum.", [](int, Program& p) {
         leave_out(p, "layer", RoutineKind::Reduce, CollectiveOp::ReduceScatter);
       }}};
}

Lesson zero_3_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "zero3",
      .title = "ZeRO 3",
      .summary = "Weights too rest in parts: gathered one call ahead, dropped after use",
      .page = "docs/parallelism/sharded.md",
      .model = "tiny",
      .settings = {{"mesh", "fsdp=4"}, {"plan.zero", "3"}},
      .text = {"Weights, gradients and optimizer state rest in quarters. Before a block runs its "
               "weights are gathered, after it their memory serves the next block. A computation "
               "never sees that: it reads whole weights.",
               "The gather of a block starts one call before its weights are needed, so that it "
               "travels while the block before computes. Two blocks of weights are whole at a "
               "time.",
               "The backward gathers once more what the forward dropped. The head's weights are "
               "still there, and the backward of an embedding reads no weights."},
      .stops = {{0, "embedding", Gather, "bundle0.gathered",
                 "all_gather of the embedding's table: the first thing of the step."},
                {0, "layer", Gather, "bundle0.gathered",
                 "The first layer's weights start to travel before the embedding has run."},
                {0, "layer", GatherWait, "bundle0.there",
                 "The wait, just before the layer's forward: now its weights are whole."},
                {0, "layer", Reduce, "bundle0.reduced_1",
                 "After the backward: reduce_scatter of the layer's gradients."},
                {0, "layer", ReduceWait, "bundle0.there_1",
                 "The rank's quarter of the sum has come; the memory of the whole gradient is "
                 "free."},
                {0, "layer", Update, "bundle0.new",
                 "The update of a quarter. Nothing is gathered after it: the next step does."}},
      .formulas = {{{SentBytes},
                    "bytes that a rank sends",
                    "(P + L Pl + P + 3 x 16) (f-1)/f",
                    "P L Pl f",
                    [](const LessonSizes& s) {
                      return (2 * s.P + s.L * s.Pl + 48) * (s.f - 1) / s.f;
                    }},
                   {{ParameterBytes},
                    "bytes of parameters on a rank",
                    "P / f + 2 Pl",
                    "P f Pl",
                    [](const LessonSizes& s) { return s.P / s.f + 2 * s.Pl; }},
                   {{OptimizerBytes},
                    "bytes of optimizer state on a rank",
                    "2 P / f",
                    "P f",
                    [](const LessonSizes& s) { return 2 * s.P / s.f; }}},
      .guesses = {{"Six blocks are gathered for the forward. How many all_gathers does a rank take "
                   "part in, in the whole step?",
                   {Collectives, "all_gather"},
                   "The backward gathers the four layers again; the head is still there and the "
                   "embedding's backward reads no weights."}},
      .breaks = zero_3_breaks(),
  };
}

Lesson hsdp_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "hsdp",
      .title = "HSDP",
      .summary = "Shards inside a group, copies across groups",
      .page = "docs/parallelism/sharded.md",
      .model = "tiny",
      .settings = {{"mesh", "dp=2,fsdp=2"}},
      .text = {"Ranks 0 and 1 are one group along fsdp, ranks 2 and 3 another: inside a group the "
               "states are cut in two, and each group holds all of them. On a cluster a group is a "
               "machine, and what is gathered for every block stays inside it.",
               "Gradients are reduce-scattered inside the group. Then each rank sums its half with "
               "the rank of the other group that holds the same half: across groups only halves "
               "travel, once a step."},
      .stops = {{0, "layer", Gather, "bundle0.gathered",
                 "all_gather along fsdp: rank 0 with rank 1, rank 2 with rank 3."},
                {0, "layer", Reduce, "bundle0.reduced_1",
                 "reduce_scatter along fsdp: each rank gets half of the group's sum."},
                {0, "layer", ReduceWait, "bundle0.summed",
                 "all_reduce along dp: rank 0 with rank 2, which holds the same half."}},
      .formulas = {{{SentBytes, "all_gather"},
                    "bytes that a rank sends to gather weights",
                    "(P + L Pl) (f-1)/f",
                    "P L Pl f",
                    [](const LessonSizes& s) { return (s.P + s.L * s.Pl) * (s.f - 1) / s.f; }},
                   {{SentBytes, "reduce_scatter"},
                    "to reduce gradients in the group",
                    "P (f-1)/f",
                    "P f",
                    [](const LessonSizes& s) { return s.P * (s.f - 1) / s.f; }},
                   {{SentBytes, "all_reduce", "dp"},
                    "to sum them across groups",
                    "2 (P/f) (d-1)/d",
                    "P f d",
                    [](const LessonSizes& s) { return 2 * s.P / s.f * (s.d - 1) / s.d; }}},
      .guesses = {{"The model has 3,412,480 bytes; there are 2 groups of 2 ranks. How many bytes "
                   "does a rank send to the other group for gradients?",
                   {SentBytes, "all_reduce", "dp"},
                   "An all_reduce of half of the model over two ranks."}},
      .breaks = {{"across", "Leave out the sum across groups",
                  "Each group trains on its own samples.",
                  [](int, Program& p) {
                    leave_out(p, "layer", RoutineKind::ReduceWait, CollectiveOp::AllReduce);
                  }},
                 {"inside", "Leave out the reduction inside a group",
                  "A rank keeps its half of its own gradient.",
                  [](int, Program& p) {
                    leave_out(p, "layer", RoutineKind::Reduce, CollectiveOp::ReduceScatter);
                  }}},
  };
}

}  // namespace

std::vector<Lesson> sharded_lessons() {
  return {zero_1_lesson(), zero_2_lesson(), zero_3_lesson(), hsdp_lesson()};
}

}  // namespace tessera
