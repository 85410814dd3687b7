// SPDX-License-Identifier: Apache-2.0
// Lessons about context parallelism: the ring, and Ulysses.
#include "studio/lessons/break_program.h"
#include "studio/lessons/lesson.h"

namespace tessera {
namespace {

std::vector<LessonBreak> ring_breaks() {
  return {
      {"keys", "Keys do not travel",
       "The first shift of keys is left out: every rank attends twice to its own.",
       [](int, Program& p) {
         leave_out_on(p, "layer", RoutineKind::Forward, CollectiveOp::Shift, "rope");
       }},
      {"positions", "Positions do not travel",
       "Keys come, but are taken to stand where the rank's own tokens stand.",
       [](int, Program& p) {
         leave_out_on(p, "layer", RoutineKind::Forward, CollectiveOp::Shift, "positions");
       }},
      {"swap", "Swap keys and values on one rank", "Both have the same size, so nothing overflows.",
       [](int rank, Program& p) {
         if (rank == 1)
           std::swap(
               find_collective(p, "layer", RoutineKind::Forward, CollectiveOp::Shift, 0).output,
               find_collective(p, "layer", RoutineKind::Forward, CollectiveOp::Shift, 1).output);
       }},
      {"home", "Gradients of values do not come home",
       "The last shift of the backward is left out.", [](int, Program& p) {
         const int shifts =
             count_collectives(p, "layer", RoutineKind::Backward, CollectiveOp::Shift);
         leave_out(p, "layer", RoutineKind::Backward, CollectiveOp::Shift, shifts - 1);
       }}};
}

Lesson ring_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "ring",
      .title = "Context: ring",
      .summary = "Keys and values travel around a ring, queries stay",
      .page = "docs/parallelism/context.md",
      .model = "tiny",
      .settings = {{"mesh", "cp=4"}},
      .text =
          {"Each rank has a quarter of every sequence. All but attention is local to a token; "
           "attention needs the keys and values of earlier tokens, wherever they are.",
           "So keys and values travel: at every hop a rank sends what it has to the next rank and "
           "attends with its own queries to what came. The partial results are merged by their "
           "log-sum-exp. A shift starts before the hop computes, so it travels meanwhile.",
           "A causal mask leaves early tokens little to do. The sequence is therefore cut into 8 "
           "chunks, and rank r holds chunks r and 7 - r: an early and a late one. Positions and "
           "documents travel along, because masks are made of them.",
           "In the backward keys and values go around once more, and their gradients travel one "
           "hop further, home."},
      .stops =
          {{0, "layer", Forward, "matmul_2.shift.started",
            "The values start their first hop as soon as they exist."},
           {0, "layer", Forward, "rope_1.attention",
            "Hop 0: own queries, own keys, while those of the rank before are on their way."},
           {0, "layer", Forward, "rope.shift", "The keys of the rank before have come."},
           {0, "layer", Forward, "rope_1.attention_1",
            "Hop 1: own queries, the keys of the rank before. What lies later than a query is "
            "masked by position."},
           {0, "layer", Backward, "rope_1.attention_grad_dk.shift.started",
            "The backward: gradients of keys travel along with the keys, to be added to."},
           {0, "layer", Reduce, "bundle0.summed",
            "All ranks have all weights, and saw a quarter of the tokens: gradients are summed as "
            "in data parallel."}},
      .formulas = {{{SentBytes, "shift"},
                    "bytes that a rank sends around the ring",
                    "m L (2 (2 K + 8 t) (c-1)/c + 2 K)",
                    "m L K t c",
                    [](const LessonSizes& s) {
                      return s.m * s.L * (2 * (2 * s.K + 8 * s.t) * (s.c - 1) / s.c + 2 * s.K);
                    }},
                   {{SentBytes, "all_reduce"},
                    "bytes that it sends for gradients",
                    "2 (P + 8 + 8) (c-1)/c",
                    "P c",
                    [](const LessonSizes& s) { return 2 * (s.P + 16) * (s.c - 1) / s.c; }}},
      .guesses = {{"At each hop keys, values, positions and documents move. With 4 ranks and 4 "
                   "layers, how many shifts does a rank take part in, if the backward shifts them "
                   "again and the two gradients four times?",
                   {Collectives, "shift"},
                   "3 hops of 4 in the forward, as many in the backward, and 2 gradients of 4 "
                   "hops: 32 for each layer."}},
      .breaks = ring_breaks(),
  };
}

Lesson ulysses_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "ulysses",
      .title = "Context: Ulysses",
      .summary = "An exchange turns parts of the sequence into parts of the heads, and back",
      .page = "docs/parallelism/context.md",
      .model = "tiny",
      .settings = {{"mesh", "cp=2"}, {"plan.context", "ulysses"}},
      .text =
          {"Each rank has half of every sequence. For attention the ranks exchange: an all_to_all "
           "turns half of the tokens with all heads into all tokens with half of the heads.",
           "Attention then needs nobody else, and another all_to_all turns its result back.",
           "What a rank sends falls as ranks are added, where a ring's traffic does not. In return "
           "the number of key/value heads limits the ranks."},
      .stops = {{0, "layer", Forward, "matmul_2.all_to_all.started",
                 "The values start as soon as they are computed, then keys and queries."},
                {0, "layer", Forward, "attention",
                 "Attention over the whole sequence, for half of the heads."},
                {0, "layer", Forward, "attention.all_to_all.started",
                 "The result goes back: half of the tokens, all heads."},
                {0, "layer", Backward, "d_attention.all_to_all.started",
                 "The backward does the same with gradients, and exchanges queries, keys, values "
                 "and the result again."}},
      .formulas = {{{SentBytes, "all_to_all"},
                    "bytes that a rank sends to exchange heads",
                    "3 m L (2 Q + 2 K) (c-1)/c^2",
                    "m L Q K c",
                    [](const LessonSizes& s) {
                      return 3 * s.m * s.L * (2 * s.Q + 2 * s.K) * (s.c - 1) / (s.c * s.c);
                    }},
                   {{SentBytes, "all_reduce"},
                    "bytes that it sends for gradients",
                    "2 (P + 8 + 8) (c-1)/c",
                    "P c",
                    [](const LessonSizes& s) { return 2 * (s.P + 16) * (s.c - 1) / s.c; }}},
      .guesses =
          {{"Queries and the result have 1,048,576 bytes over both ranks, keys and values "
            "524,288. A rank exchanges each three times, in 4 layers. How many bytes does it "
            "send, if it holds half and sends half of that?",
            {SentBytes, "all_to_all"},
            "3,145,728 bytes over both ranks, three times, in 4 layers, a quarter of it."}},
      .breaks = {{"exchange", "Leave out an exchange",
                  "The values stay half of the tokens, and attention takes them for half of the "
                  "heads.",
                  [](int, Program& p) {
                    leave_out(p, "layer", RoutineKind::Forward, CollectiveOp::AllToAll);
                  }},
                 {"gradients", "Leave out the exchange of a gradient",
                  "The last all_to_all of the backward is left out.",
                  [](int, Program& p) {
                    leave_out(p, "layer", RoutineKind::Backward, CollectiveOp::AllToAll, 7);
                  }}},
  };
}

}  // namespace

std::vector<Lesson> context_lessons() { return {ring_lesson(), ulysses_lesson()}; }

}  // namespace tessera
