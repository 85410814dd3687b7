// SPDX-License-Identifier: Apache-2.0
// Lessons about tensor and sequence parallelism.
#include "studio/lessons/break_program.h"
#include "studio/lessons/lesson.h"

namespace tessera {
namespace {

std::vector<LessonBreak> tensor_breaks() {
  return {{"row", "Leave out the sum after wo",
           "Each rank adds its own term of attention's result to the stream.",
           [](int, Program& p) {
             leave_out(p, "layer", RoutineKind::Forward, CollectiveOp::AllReduce);
           }},
          {"gradient", "Leave out the sum of the stream's gradient",
           "The backward goes on with the half that came through the rank's own weights.",
           [](int, Program& p) {
             leave_out(p, "layer", RoutineKind::Backward, CollectiveOp::AllReduce);
           }},
          {"softmax", "Leave out a sum of the softmax",
           "The loss of each rank knows its half of the vocabulary alone.",
           [](int, Program& p) {
             leave_out(p, "head", RoutineKind::Backward, CollectiveOp::AllReduce, 1);
           }},
          {"shard", "The same half of the table on both ranks",
           "Rank 1 takes its rows of the table for the first ones.", [](int, Program& p) {
             find_kernel(p, "embedding", RoutineKind::Forward, OpKind::embedding).operands[2] =
                 add_rank_value(p, "embedding", {});
           }}};
}

Lesson tensor_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "tensor",
      .title = "Tensor parallel",
      .summary = "Every large weight is split; two sums for each layer and direction",
      .page = "docs/parallelism/tensor.md",
      .model = "tiny",
      .settings = {{"mesh", "tp=2"}},
      .text =
          {"Each rank has half of the heads, half of the mlp and half of the vocabulary, and "
           "computes with them on all tokens.",
           "The first matmul of a pair is split along its output, so each rank gets its own half "
           "of the inner values and nothing moves. The second is split along what it sums over, "
           "so each rank gets one term of the result: a pending sum, and one all_reduce makes it "
           "whole. Attention does the same with heads, and wo as its second matmul.",
           "In the backward the roles are exchanged: the gradient of the pair's input is pending. "
           "Gradients of weights need nobody: each rank has all tokens for its own half.",
           "Between the pairs the stream is a copy on both ranks, and norms run twice. Sequence "
           "parallel splits these too."},
      .stops =
          {{0, "embedding", Forward, "embedding.all_reduce.started",
            "Each rank has half of the table and zeros for the other rows: the lookup is a pending "
            "sum."},
           {0, "layer", Forward, "matmul_4",
            "The first matmul of the mlp: gate_up is split along mlp, and so is its result."},
           {0, "layer", Forward, "matmul_5",
            "The second: down is split along what is summed over, so the result is one term of a "
            "sum."},
           {0, "layer", Forward, "matmul_5.all_reduce.started",
            "The all_reduce. Nothing can run beside it: the next norm needs the sum."},
           {0, "head", Backward, "rms_norm.output_stats_1.all_reduce.started",
            "The logits are never whole: the ranks exchange each token's largest logit, then two "
            "sums."},
           {0, "layer", Backward, "d_rms_norm_1.all_reduce.started",
            "Backward of the pair: the gradient of its input is pending. A weight gradient runs "
            "while it is summed."}},
      .formulas = {{{SentBytes},
                    "bytes that a rank sends",
                    "2 (m ((4 L + 2) A + 12 t) + 8) (n-1)/n",
                    "m L A t n",
                    [](const LessonSizes& s) {
                      return 2 * (s.m * ((4 * s.L + 2) * s.A + 12 * s.t) + 8) * (s.n - 1) / s.n;
                    }},
                   {{ParameterBytes},
                    "bytes of parameters on a rank",
                    "(P - N) / n + N",
                    "P N n",
                    [](const LessonSizes& s) { return (s.P - s.N) / s.n + s.N; }}},
      .guesses =
          {{"Four layers, one embedding, one head. How many all_reduces does a rank take part "
            "in, with the two small ones of the loss and one of the norm?",
            {Collectives, "all_reduce"},
            "Four for each layer, one for the embedding, one for the head's input gradient; "
            "three small ones."}},
      .breaks = tensor_breaks(),
  };
}

std::vector<LessonBreak> sequence_breaks() {
  return {
      {"kinds", "Another collective on one rank",
       "Rank 1 runs an all_reduce where rank 0 runs a reduce_scatter.",
       [](int rank, Program& p) {
         if (rank != 1) return;
         CollectiveInstruction& sum =
             find_collective(p, "layer", RoutineKind::Forward, CollectiveOp::ReduceScatter);
         sum.op = CollectiveOp::AllReduce;
         sum.split = kNone;
         sum.output = sum.input;
       }},
      {"dim", "Gather along the wrong dim", "The parts of seq are laid side by side along d.",
       [](int, Program& p) {
         CollectiveInstruction& gather =
             find_collective(p, "layer", RoutineKind::Forward, CollectiveOp::AllGather);
         gather.join = type_of(p, "layer", gather.input).index_of("d");
       }},
      {"norms", "Forget the gains of norms",
       "Their gradients stay what each rank found in its half of the tokens.", [](int, Program& p) {
         leave_out(p, "layer", RoutineKind::Reduce, CollectiveOp::AllReduce);
       }}};
}

Lesson sequence_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "sequence",
      .title = "Sequence parallel",
      .summary = "Tensor parallel with the stream split along the sequence between the matmuls",
      .page = "docs/parallelism/sequence.md",
      .model = "tiny",
      .settings = {{"mesh", "tp=2"}, {"plan.sequence_parallel", "true"}},
      .text =
          {"Tensor parallel keeps the stream whole on every rank and runs norms and sums on all of "
           "it. Here each rank has half of the tokens between the matmuls.",
           "Before a pair of matmuls an all_gather makes the tokens whole; after it a "
           "reduce_scatter sums the terms and leaves each rank its half. The two move as many "
           "bytes as the all_reduce that they replace, and kept activations shrink.",
           "The backward gathers once more what weight gradients read, where tensor parallel "
           "keeps it: a little more traffic for less memory.",
           "The gains of norms now see half of the tokens on each rank, so their gradients are "
           "pending along tp: one small all_reduce for each block."},
      .stops = {{0, "embedding", Forward, "embedding.reduce_scatter.started",
                 "The lookup is pending, as before; of the sum each rank takes its half of seq."},
                {0, "layer", Forward, "rms_norm", "The norm runs on half of the tokens."},
                {0, "layer", Forward, "rms_norm.all_gather.started",
                 "all_gather: all tokens for half of the heads."},
                {0, "layer", Forward, "matmul_3.reduce_scatter.started",
                 "reduce_scatter: summed over heads, and split along seq again."},
                {0, "layer", Backward, "rms_norm_1.all_gather_1.started",
                 "The backward gathers again what the weight gradient reads."},
                {0, "layer", Reduce, "bundle1.summed",
                 "The gains of the layer's two norms: pending along tp, summed once a step."}},
      .formulas = {{{SentBytes},
                    "bytes that a rank sends",
                    "(m ((10 L + 4) A + 24 t) + 2 N + 32) (n-1)/n",
                    "m L A t N n",
                    [](const LessonSizes& s) {
                      return (s.m * ((10 * s.L + 4) * s.A + 24 * s.t) + 2 * s.N + 32) * (s.n - 1) /
                             s.n;
                    }}},
      .guesses = {{"A = 1,048,576 bytes, 2 ranks, 4 layers. The forward of a layer has two "
                   "reduce_scatters of A, and so has its backward; embedding and head have one "
                   "each. How many bytes does a rank send in reduce_scatters?",
                   {SentBytes, "reduce_scatter"},
                   "18 of them, and each sends half of A."}},
      .breaks = sequence_breaks(),
  };
}

}  // namespace

std::vector<Lesson> tensor_lessons() { return {tensor_lesson(), sequence_lesson()}; }

}  // namespace tessera
