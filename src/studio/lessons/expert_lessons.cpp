// SPDX-License-Identifier: Apache-2.0
// Lessons about mixtures of experts, and about all axes at once.
#include "studio/lessons/break_program.h"
#include "studio/lessons/lesson.h"

namespace tessera {
namespace {

std::vector<LessonBreak> experts_breaks() {
  return {{"tokens", "Tokens are not gathered", "Experts see the samples of their own rank alone.",
           [](int, Program& p) {
             leave_out(p, "layer", RoutineKind::Forward, CollectiveOp::AllGather, 0);
           }},
          {"results", "Results of own experts alone",
           "The parts of the other rank's experts are not added.",
           [](int, Program& p) {
             leave_out(p, "layer", RoutineKind::Forward, CollectiveOp::ReduceScatter);
           }},
          {"first", "The first experts on every rank",
           "Rank 1 sorts rows for experts 0 to 3, and runs its own on them.", [](int, Program& p) {
             find_kernel(p, "layer", RoutineKind::Forward, OpKind::order_routes).operands[1] =
                 add_rank_value(p, "layer", {});
           }}};
}

Lesson experts_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "experts",
      .title = "Experts",
      .summary = "Ranks share the experts of a layer, and gather the tokens for them",
      .page = "docs/parallelism/expert.md",
      .model = "tiny-moe",
      .settings = {{"mesh", "ep=2"}, {"plan.dispatch", "gather"}},
      .text =
          {"A router sends each token to two of eight experts. Along ep the ranks share the "
           "experts, four each; everything else sees ep as one more axis of samples.",
           "Tokens, choices and gates are gathered, each rank sorts the rows that chose its own "
           "experts into a pool, and runs them. What it then has for each token is the part of its "
           "own experts: a pending sum. A reduce_scatter adds the parts up and leaves each rank "
           "its own samples.",
           "Gradients of dense weights are summed over ep. Those of experts are not: a rank has "
           "seen every row of its experts already."},
      .stops = {{0, "layer", Forward, "rms_norm_3.all_gather.started",
                 "Tokens start to travel before the router has run."},
                {0, "layer", Forward, "route",
                 "The router scores all eight experts for the rank's own samples."},
                {0, "layer", Forward, "dispatch",
                 "Rows of all tokens that chose one of the rank's four experts."},
                {0, "layer", Forward, "combine.reduce_scatter.started",
                 "Parts of all experts are added up; each rank gets its own samples."},
                {0, "layer", Reduce, "bundle0.summed",
                 "Dense gradients are summed over ep. Those of experts stay."}},
      .formulas =
          {{{SentBytes, "all_gather"},
            "bytes that a rank sends to gather tokens",
            "m L (2 A + 3 C) (e-1)/e",
            "m L A C e",
            [](const LessonSizes& s) { return s.m * s.L * (2 * s.A + 3 * s.C) * (s.e - 1) / s.e; }},
           {{SentBytes, "reduce_scatter"},
            "bytes that it sends to bring results back",
            "m L (2 A + C) (e-1)/e",
            "m L A C e",
            [](const LessonSizes& s) { return s.m * s.L * (2 * s.A + s.C) * (s.e - 1) / s.e; }},
           {{ParameterBytes},
            "bytes of parameters on a rank",
            "P - Pe + Pe / e",
            "P Pe e",
            [](const LessonSizes& s) { return s.P - s.Pe + s.Pe / s.e; }}},
      .guesses = {{"The model has 7,362,048 bytes, 6,291,456 of them in experts. How many bytes of "
                   "parameters does one of two ranks have?",
                   {ParameterBytes},
                   "Half of the experts, and all of the rest."}},
      .breaks = experts_breaks(),
  };
}

Lesson exchange_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "exchange",
      .title = "Experts: exchange",
      .summary = "Rows go to the rank that has their expert, and back",
      .page = "docs/parallelism/expert.md",
      .model = "tiny-moe",
      .settings = {{"mesh", "ep=4"}, {"plan.dispatch", "exchange"}},
      .text =
          {"Gathering moves every token to every rank, though only two experts want it. With an "
           "exchange each row goes to the rank of its expert and nowhere else.",
           "Each rank sorts its own rows by expert and tells the others how many come. put_rows "
           "then sends every row to its expert, take_rows sends the results back, and the token's "
           "own rank adds them up in the order of its choices.",
           "How many bytes move depends on the choices. The figures here are means: each expert "
           "gets its share of the rows."},
      .stops = {{0, "layer", Forward, "order_routes_ends.all.started",
                 "How many rows each rank has for each expert: known to all before rows move."},
                {0, "layer", Forward, "dispatch.put_rows.started", "Rows leave for their experts."},
                {0, "layer", Forward, "expert_matmul_1.take_rows.started",
                 "Results come back to the rank of their token."},
                {0, "layer", Backward, "d_expert_matmul_1.put_rows.started",
                 "The backward goes the same ways with gradients."}},
      .formulas = {{{SentBytes, "put_rows"},
                    "bytes that a rank sends to experts, on average",
                    "m L (2 k A + C)/e (e-1)/e",
                    "m L k A C e",
                    [](const LessonSizes& s) {
                      return s.m * s.L * (2 * s.k * s.A + s.C) / s.e * (s.e - 1) / s.e;
                    }},
                   {{SentBytes, "take_rows"},
                    "bytes that it sends back, on average",
                    "m L (2 k A + C)/e (e-1)/e",
                    "m L k A C e",
                    [](const LessonSizes& s) {
                      return s.m * s.L * (2 * s.k * s.A + s.C) / s.e * (s.e - 1) / s.e;
                    }}},
      .guesses = {{"A rank has a quarter of A = 1,048,576 bytes of tokens, and two rows of each. "
                   "Three quarters of its rows have an expert elsewhere. How many bytes do 4 "
                   "layers send out in forward and backward, gates of 16,384 bytes over all ranks "
                   "included?",
                   {SentBytes, "put_rows"},
                   "Tokens and gates forward, gradients of results backward: (2 x 2 x A + C) / 4 x "
                   "3/4 for each layer."}},
      .breaks = {{"stay", "Rows stay with their tokens",
                  "put_rows is left out: experts run on rows that are not theirs.",
                  [](int, Program& p) {
                    leave_out(p, "layer", RoutineKind::Forward, CollectiveOp::PutRows, 1);
                  }},
                 {"back", "Results stay with their experts", "take_rows is left out.",
                  [](int, Program& p) {
                    leave_out(p, "layer", RoutineKind::Forward, CollectiveOp::TakeRows);
                  }}},
  };
}

std::vector<LessonBreak> all_axes_breaks() {
  return {{"ring", "Keys do not travel", "The first shift of keys is left out.",
           [](int, Program& p) {
             leave_out_on(p, "layer", RoutineKind::Forward, CollectiveOp::Shift, "rope");
           }},
          {"axis", "Sum over the wrong axis",
           "Attention's terms are summed along dp in place of tp.", [](int, Program& p) {
             find_collective(p, "layer", RoutineKind::Forward, CollectiveOp::AllReduce).group =
                 group_over(p, {p.mesh.find("dp")});
           }}};
}

std::vector<LessonStop> all_axes_stops() {
  using enum RoutineKind;
  return {{0, "embedding", Gather, "bundle0.gathered",
           "fsdp: weights rest in halves and are gathered."},
          {0, "layer", Forward, "matmul_2.shift.started",
           "cp: values start their way around the ring."},
          {0, "layer", Forward, "matmul_3.all_reduce.started",
           "tp: the terms of attention's result are summed."},
          {0, "layer", StreamOut, "add_1", "pp: the stream goes to the next stage."},
          {0, "layer", Reduce, "bundle0.reduced_1",
           "fsdp and cp: gradients are summed, and each rank gets its part."}};
}

Lesson all_axes_lesson() {
  using enum FigureKind;
  return {
      .name = "all",
      .title = "All axes at once",
      .summary = "Stages, copies, shards, sequence and heads: 32 ranks, one program for each stage",
      .page = "docs/parallelism/README.md",
      .model = "tiny",
      .settings = {{"mesh", "pp=2,dp=2,fsdp=2,cp=2,tp=2"}, {"train.microbatches", "4"}},
      .text =
          {"Five axes of two ranks each. No kind of parallelism knows of another: each is a "
           "placement of named dims, and they combine because each collective names its axes.",
           "batch is split by dp and fsdp, seq by cp, heads and mlp and vocabulary by tp, blocks "
           "by pp, and the flat buffers of states by fsdp. The columns show rank 0 and its "
           "neighbour along each axis: find the one dim in which it differs."},
      .stops = all_axes_stops(),
      .formulas = {{{Bubble},
                    "idle over useful time",
                    "(p-1)/m",
                    "p m",
                    [](const LessonSizes& s) { return (s.p - 1) / s.m; }},
                   {{SentByAllBytes, "shift"},
                    "bytes around rings, over all ranks",
                    "d f c n m L (2 (2 K/n + 8 t) (c-1)/c + 2 K/n)",
                    "d f c n m L K t",
                    [](const LessonSizes& s) {
                      const double keys = s.K / s.n;
                      return s.d * s.f * s.c * s.n * s.m * s.L *
                             (2 * (2 * keys + 8 * s.t) * (s.c - 1) / s.c + 2 * keys);
                    }},
                   {{SentByAllBytes, "all_reduce", "tp"},
                    "bytes of sums along tp, over all ranks",
                    "d f n m 2 ((4 L + 2) A + 12 t) (n-1)/n",
                    "d f n m L A t",
                    [](const LessonSizes& s) {
                      return s.d * s.f * s.n * s.m * 2 * ((4 * s.L + 2) * s.A + 12 * s.t) *
                             (s.n - 1) / s.n;
                    }},
                   {{SentByAllBytes, "send"},
                    "bytes between stages, over all ranks",
                    "2 m (p-1) d f n A",
                    "m p d f n A",
                    [](const LessonSizes& s) {
                      return 2 * s.m * (s.p - 1) * s.d * s.f * s.n * s.A;
                    }}},
      .guesses = {{"Two stages and four microbatches: how large is the bubble, in percent of "
                   "useful time?",
                   {Bubble},
                   "1f1b idles as long as p-1 microbatches take."}},
      .breaks = all_axes_breaks(),
  };
}

}  // namespace

std::vector<Lesson> expert_lessons() {
  return {experts_lesson(), exchange_lesson(), all_axes_lesson()};
}

}  // namespace tessera
