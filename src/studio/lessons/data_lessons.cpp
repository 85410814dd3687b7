// SPDX-License-Identifier: Apache-2.0
// Lessons about collectives and data parallelism.
#include "studio/lessons/break_program.h"
#include "studio/lessons/lesson.h"

namespace tessera {
namespace {

std::vector<LessonBreak> collectives_breaks() {
  return {{"gather", "Leave out an all_gather",
           "Each rank goes on with its own part of seq, where all of it is needed.",
           [](int, Program& p) {
             leave_out(p, "layer", RoutineKind::Forward, CollectiveOp::AllGather);
           }},
          {"kinds", "Another collective on one rank",
           "Rank 1 runs an all_reduce where the others run a reduce_scatter.",
           [](int rank, Program& p) {
             if (rank != 1) return;
             CollectiveInstruction& sum =
                 find_collective(p, "layer", RoutineKind::Forward, CollectiveOp::ReduceScatter);
             sum.op = CollectiveOp::AllReduce;
             sum.split = kNone;
             sum.output = sum.input;
           }},
          {"group", "The right sum over the wrong axis",
           "The gradients of the layers are summed along tp in place of dp.", [](int, Program& p) {
             find_collective(p, "layer", RoutineKind::Reduce, CollectiveOp::AllReduce).group =
                 group_over(p, {p.mesh.find("tp")});
           }}};
}

Lesson collectives_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "collectives",
      .title = "Collectives",
      .summary = "Three ways in which ranks turn what they hold into what they need",
      .page = "docs/parallelism/README.md",
      .model = "tiny",
      .settings = {{"mesh", "dp=2,tp=2"}, {"plan.sequence_parallel", "true"}},
      .text =
          {"A rank holds a tensor in one of three ways: whole, a copy of what others have; split, "
           "its part along a dim; pending, one term of a sum over ranks. A collective turns one "
           "of these into another, for all ranks of a group at once.",
           "all_gather makes split whole: every rank gets the parts of the others. reduce_scatter "
           "makes pending split: every rank gets its part of the sum. all_reduce makes pending "
           "whole, and is the two of them one after the other.",
           "Groups follow the mesh. Ranks 0 and 1 differ along tp alone and form a group of tp; "
           "ranks 0 and 2 differ along dp. The same instruction runs in both groups of an axis at "
           "the same time.",
           "A collective that has started runs beside later instructions, until a wait for what "
           "it fills."},
      .stops = {{0, "totals", CountReduce, "label_count.total",
                 "all_reduce of one number: each rank has counted its own labels, and now all know "
                 "the sum."},
                {0, "embedding", Forward, "embedding.reduce_scatter.started",
                 "reduce_scatter along tp: each rank looked up the rows that it has, so the values "
                 "are pending; of their sum it gets its own part of seq."},
                {0, "layer", Forward, "rms_norm.all_gather.started",
                 "all_gather along tp: the parts of seq become whole on both ranks."},
                {0, "layer", Forward, "rms_norm.all_gather",
                 "The wait: from here on the gathered values may be read."},
                {0, "layer", Reduce, "bundle0.summed",
                 "all_reduce along dp: the gradients of the layer, summed over the two halves of "
                 "the batch."}},
      .formulas =
          {{{SentBytes, "all_gather"},
            "bytes that a rank sends in all_gathers",
            "m (6 L + 2) A (n-1)/n",
            "m L A n",
            [](const LessonSizes& s) { return s.m * (6 * s.L + 2) * s.A * (s.n - 1) / s.n; }},
           {{SentBytes, "reduce_scatter"},
            "bytes that a rank sends in reduce_scatters",
            "m (4 L + 2) A (n-1)/n",
            "m L A n",
            [](const LessonSizes& s) { return s.m * (4 * s.L + 2) * s.A * (s.n - 1) / s.n; }}},
      .guesses = {{"There are 4 layers. The forward of each gathers its stream twice, the backward "
                   "four times, and embedding and head once each. How many all_gathers does a rank "
                   "take part in?",
                   {Collectives, "all_gather"},
                   "6 for each of 4 layers, and 2."}},
      .breaks = collectives_breaks(),
  };
}

std::vector<LessonBreak> data_breaks() {
  return {{"sum", "Leave out a sum of gradients",
           "The gradients of the layers stay what each rank found in its own samples.",
           [](int, Program& p) {
             leave_out(p, "layer", RoutineKind::Reduce, CollectiveOp::AllReduce);
           }},
          {"swap", "Swap two collectives on one rank",
           "Rank 1 starts the sums of two blocks in the other order.",
           [](int rank, Program& p) {
             if (rank != 1) return;
             const std::vector<ScriptCall*> sums = find_calls(p, RoutineKind::Reduce, 0);
             std::swap(sums[0]->block, sums[1]->block);
           }},
          {"labels", "Divide by the rank's own labels",
           "The count of labels is not summed: a mean of means, as many trainers had it.",
           [](int, Program& p) {
             leave_out(p, "totals", RoutineKind::CountReduce, CollectiveOp::AllReduce);
           }},
          {"update", "Skip the update on one rank", "Rank 1 keeps its old weights of the layers.",
           [](int rank, Program& p) {
             if (rank == 1) remove(p, "layer", RoutineKind::Update, "adamw");
           }}};
}

Lesson data_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "data",
      .title = "Data parallel",
      .summary = "Copies of the model, parts of the batch, one sum of gradients a step",
      .page = "docs/parallelism/data.md",
      .model = "tiny",
      .settings = {{"mesh", "dp=2"}},
      .text = {"Each rank has the whole model and half of the samples. Forward and backward need "
               "nobody else.",
               "What a rank has after its backward is the gradient of its own samples alone: one "
               "term of a sum over ranks, a pending sum. Before the update every rank needs the "
               "whole sum, so there is one all_reduce for each block. It starts as soon as the "
               "block's backward is done and travels while the block before it computes.",
               "All ranks then run the same update on the same numbers, and their copies stay "
               "equal to the last bit."},
      .stops = {{0, "totals", CountReduce, "label_count.total",
                 "The loss is divided by the labels of all ranks, so these are counted and summed "
                 "before the first forward."},
                {0, "embedding", Forward, "embedding",
                 "Every rank looks up its own samples: batch is split over dp, the table is a "
                 "copy."},
                {0, "layer", Backward, "d_down",
                 "The gradient of a weight has no batch any more: it is summed over the rank's "
                 "samples, and still to be summed over dp."},
                {0, "layer", Reduce, "bundle0.summed",
                 "One all_reduce for all gradients of the layer. It has only started: the next "
                 "backward runs while it travels."},
                {0, "layer", ReduceWait, "bundle0.there",
                 "After the last backward the rank waits. Now its gradients are those of the whole "
                 "batch."},
                {0, "layer", Update, "bundle0.new",
                 "The same update of the same numbers on every rank."}},
      .formulas = {{{SentBytes},
                    "bytes that a rank sends",
                    "2 (P + 8 + 8) (d-1)/d",
                    "P d",
                    [](const LessonSizes& s) { return 2 * (s.P + 16) * (s.d - 1) / s.d; }},
                   {{OptimizerBytes},
                    "bytes of optimizer state on a rank",
                    "2 P",
                    "P",
                    [](const LessonSizes& s) { return 2 * s.P; }}},
      .guesses =
          {{"The gradients have 3,412,480 bytes and there are two ranks. How many bytes does "
            "each rank send in a step?",
            {SentBytes, "all_reduce"},
            "An all_reduce is a reduce_scatter and an all_gather: each sends (d-1)/d of the "
            "bytes, so over two ranks all of them once. 16 bytes more are the count of "
            "labels and the loss."}},
      .breaks = data_breaks(),
  };
}

}  // namespace

std::vector<Lesson> data_lessons() { return {collectives_lesson(), data_lesson()}; }

}  // namespace tessera
