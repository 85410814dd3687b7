// SPDX-License-Identifier: Apache-2.0
// Lessons about collectives and data parallelism.
#include "studio/lessons/lesson.h"

namespace tessera {
namespace {

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
                    "bytes that a rank sends in a step",
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
      .breaks = {},
  };
}

}  // namespace

std::vector<Lesson> data_lessons() { return {data_lesson()}; }

std::vector<Lesson> sharded_lessons() { return {}; }
std::vector<Lesson> tensor_lessons() { return {}; }
std::vector<Lesson> context_lessons() { return {}; }
std::vector<Lesson> pipeline_lessons() { return {}; }
std::vector<Lesson> expert_lessons() { return {}; }

}  // namespace tessera
