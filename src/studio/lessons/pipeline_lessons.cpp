// SPDX-License-Identifier: Apache-2.0
// Lessons about pipelines, one for each schedule, and about recomputation. Every pipeline has four
// stages and eight microbatches, so that schedules can be compared.
#include "studio/lessons/break_program.h"
#include "studio/lessons/lesson.h"

namespace tessera {
namespace {

using LessonTexts = std::vector<std::string_view>;

double sent_between_ranks(const LessonSizes& s) { return 2 * s.m * (s.p * s.v - 1) * s.A; }

LessonBreak early_read() {
  return {"wait", "Swap two waits",
          "Rank 1 runs its first forward, and only then waits for the stream that it reads.",
          [](int rank, Program& p) {
            if (rank == 1) move_after(p, RoutineKind::StreamInDone, 0, RoutineKind::Forward, 0);
          }};
}

LessonBreak other_order() {
  return {"order", "Take two messages in another order",
          "Rank 1 takes the message of microbatch 1 for that of microbatch 0.",
          [](int rank, Program& p) {
            if (rank == 1)
              std::swap(find_calls(p, RoutineKind::StreamIn, 0).front()->microbatch,
                        find_calls(p, RoutineKind::StreamIn, 1).front()->microbatch);
          }};
}

LessonBreak lost_send() {
  return {"send", "Never wait for a send",
          "Rank 0 does not wait until its first stream is sent, and uses the memory again.",
          [](int rank, Program& p) {
            if (rank == 0) drop_calls(p, RoutineKind::StreamOutDone, 0);
          }};
}

LessonBreak lost_gradients() {
  return {"weights", "Skip weight gradients",
          "The weight gradients of microbatch 1 are never computed.",
          [](int, Program& p) { drop_calls(p, RoutineKind::WeightGrad, 1); }};
}

LessonBreak deadlock() {
  return {"deadlock", "Two stages wait for each other",
          "Rank 0 waits for its first gradient before it sends the stream of microbatch 2, without "
          "which rank 1 does not come to its first backward.",
          [](int rank, Program& p) {
            if (rank != 0) return;
            for (const int late : {3, 2})
              move_after(p, RoutineKind::StreamOut, late, RoutineKind::GradientInDone, 0);
          }};
}

struct ScheduleLesson {
  std::string_view name, title, summary, schedule, chunks;
  LessonTexts text;
  std::vector<LessonStop> stops;
  LessonFormula bubble, held;
  std::string_view because;
  std::vector<LessonBreak> breaks;
};

Lesson lesson_of(ScheduleLesson of) {
  using enum FigureKind;
  std::vector<LessonFormula> formulas{std::move(of.bubble), std::move(of.held)};
  const bool turns = of.schedule == "zb_v";
  formulas.push_back(
      turns ? LessonFormula{{SentByAllBytes, "send"},
                            "bytes between stages, over all ranks",
                            "2 m (p v - 2) A",
                            "m p v A",
                            [](const LessonSizes& s) { return 2 * s.m * (s.p * s.v - 2) * s.A; }}
            : LessonFormula{{SentByAllBytes, "send"},
                            "bytes between stages, over all ranks",
                            "2 m (p v - 1) A",
                            "m p v A",
                            sent_between_ranks});
  return {
      .name = of.name,
      .title = of.title,
      .summary = of.summary,
      .page = "docs/parallelism/pipeline.md",
      .model = "tiny",
      .settings = {{"model.layers", "6"},
                   {"mesh", "pp=4"},
                   {"train.microbatches", "8"},
                   {"plan.schedule", of.schedule},
                   {"plan.chunks", of.chunks}},
      .text = std::move(of.text),
      .stops = std::move(of.stops),
      .formulas = std::move(formulas),
      .guesses = {{"Four stages, eight microbatches, and a forward, an input gradient and a weight "
                   "gradient that cost the same. How large is the bubble, in percent of useful "
                   "time?",
                   {Bubble},
                   of.because}},
      .breaks = std::move(of.breaks),
  };
}

constexpr std::string_view kIdle = "idle over useful time";
constexpr std::string_view kHeld = "microbatches that rank 0 holds at most";

double bubble_of_1f1b(const LessonSizes& s) { return (s.p - 1) / s.m; }
double bubble_of_chunks(const LessonSizes& s) { return (s.p - 1) / (s.m * s.v); }
double no_bubble(const LessonSizes&) { return 0; }
double held_all(const LessonSizes& s) { return s.m; }
double held_as_stages(const LessonSizes& s) { return s.p; }

Lesson gpipe_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return lesson_of(
      {.name = "gpipe",
       .title = "Pipeline: GPipe",
       .summary = "All forwards, then all backwards",
       .schedule = "gpipe",
       .chunks = "1",
       .text = {"The blocks are cut into four stages, one for each rank. A batch is cut into eight "
                "microbatches that flow through the stages one after the other, so that all ranks "
                "have work at once.",
                "GPipe runs all forwards first, then all backwards. A rank idles while the "
                "pipeline fills, and again while it drains: p-1 microbatches' worth of time.",
                "Each rank keeps the activations of all microbatches until their backwards come."},
       .stops = {{0, "layer", StreamOut, "add_1",
                  "Stage 0 sends the stream of microbatch 0 and goes on with the next.", "Send"},
                 {1, "layer", StreamInDone, "x", "Stage 1 has waited for it: the pipeline fills.",
                  "Fill"},
                 {3, "head", Backward, "d_output_loss",
                  "The last stage has run all forwards. Now backwards flow the other way.", "Turn"},
                 {0, "layer", Backward, "d_x",
                  "Stage 0 has idled until the first gradient came back.", "Drain"}},
       .bubble = {{Bubble}, kIdle, "(p-1)/m", "p m", bubble_of_1f1b},
       .held = {{HeldMicrobatches}, kHeld, "m", "m", held_all},
       .because = "Filling and draining take the time of p-1 = 3 microbatches, of 8.",
       .breaks = {early_read(), other_order(), lost_send()}});
}

Lesson one_f_one_b_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return lesson_of(
      {.name = "1f1b",
       .title = "Pipeline: 1F1B",
       .summary = "A backward as soon as there is one, then a forward",
       .schedule = "1f1b",
       .chunks = "1",
       .text = {"A backward frees activations, so it should come early. With 1F1B the pipeline "
                "fills with as many forwards as there are stages ahead, then each rank alternates: "
                "one forward, one backward. At the end it drains.",
                "Stage 0 waits until its first gradient has come back through the p-1 stages after "
                "it, and at the end the last stages run dry while gradients travel to the first: "
                "each rank idles for p-1 microbatches' worth of time, of m, as with GPipe. But "
                "rank i holds at most p-i microbatches, however many there are."},
       .stops = {{0, "layer", StreamOut, "add_1", "Stage 0 runs four forwards ahead.", "Fill"},
                 {3, "head", Backward, "d_output_loss",
                  "The last stage never waits with a backward: its first one follows its first "
                  "forward.",
                  "Turn"},
                 {0, "layer", Backward, "d_x",
                  "Stage 0 has idled until its first gradient came back through three stages. From "
                  "here on: one forward, one backward.",
                  "Steady", 0},
                 {0, "layer", Backward, "d_x",
                  "The last backward of stage 0. No forwards are left, so the stages after it have "
                  "run dry, the last one first.",
                  "Drain", 7}},
       .bubble = {{Bubble}, kIdle, "(p-1)/m", "p m", bubble_of_1f1b},
       .held = {{HeldMicrobatches}, kHeld, "p", "p", held_as_stages},
       .because = "The first gradient comes back through p-1 = 3 stages, and the drain is as long "
                  "as the fill: "
                  "3 microbatches' worth of time, of 8.",
       .breaks = {early_read(), deadlock(), other_order(), lost_send()}});
}

Lesson interleaved_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return lesson_of(
      {.name = "interleaved",
       .title = "Pipeline: interleaved 1F1B",
       .summary = "Two chunks on each rank: half the bubble for twice the messages",
       .schedule = "interleaved_1f1b",
       .chunks = "2",
       .text = {"Each rank has two smaller stages, chunks, four stages apart: rank 0 has stages 0 "
                "and 4. A microbatch goes around the ranks twice.",
                "To fill the pipeline takes p-1 chunks of time, and a chunk is half as long. So "
                "the bubble is halved, while twice as many messages are sent."},
       .stops = {{0, "embedding", StreamOut, "embedding",
                  "Stage 0 is the embedding alone; rank 1 gets its stream."},
                 {0, "layer", StreamInDone, "x",
                  "Stage 4, on rank 0 again: microbatch 0 comes back from rank 3."},
                 {3, "head", Backward, "d_output_loss", "The last stage begins the backward."}},
       .bubble = {{Bubble}, kIdle, "(p-1)/(m v)", "p m v", bubble_of_chunks},
       .held = {{HeldMicrobatches},
                kHeld,
                "p (1 + (p-1)/(p v))",
                "p v",
                [](const LessonSizes& s) { return s.p * (1 + (s.p - 1) / (s.p * s.v)); }},
       .because = "1F1B's, divided by the two chunks.",
       .breaks = {other_order(), lost_send()}});
}

Lesson looped_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return lesson_of(
      {.name = "looped",
       .title = "Pipeline: looped BFS",
       .summary = "GPipe over two chunks on each rank, one chunk after the other",
       .schedule = "looped_bfs",
       .chunks = "2",
       .text =
           {"All microbatches pass the first chunks, then all pass the second ones. With ZeRO 3 "
            "the weights of a chunk are then gathered once for all microbatches.",
            "The bubble is that of interleaved 1F1B; the activations of all microbatches are "
            "kept, as with GPipe."},
       .stops = {{0, "embedding", StreamOut, "embedding",
                  "All microbatches pass stage 0 one after the other."},
                 {0, "layer", StreamInDone, "x",
                  "Then all of them pass stage 4, on the same rank."},
                 {3, "head", Backward, "d_output_loss", "The backward begins."}},
       .bubble = {{Bubble}, kIdle, "(p-1)/(m v)", "p m v", bubble_of_chunks},
       .held = {{HeldMicrobatches}, kHeld, "m", "m", held_all},
       .because = "GPipe's, divided by the two chunks.",
       .breaks = {other_order(), lost_send()}});
}

Lesson zb_h1_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return lesson_of(
      {.name = "zb_h1",
       .title = "Pipeline: ZB-H1",
       .summary = "Weight gradients are put off to fill gaps, in 1F1B's memory",
       .schedule = "zb_h1",
       .chunks = "1",
       .text =
           {"A backward computes two things: the gradient of the stream, which the stage before "
            "waits for, and the gradients of weights, which nobody waits for until the step "
            "ends. Here they are two routines.",
            "Input gradients run as soon as they can. Weight gradients fill the gaps, above "
            "all those of the drain. With equal costs a third of 1F1B's bubble is left."},
       .stops = {{0, "layer", StreamOut, "add_1", "The fill is that of 1F1B.", "Fill"},
                 {3, "layer", InputGrad, "d_x",
                  "Only the input gradient: stage 2 gets it a unit of time earlier."},
                 {0, "layer", WeightGrad, "d_down",
                  "A weight gradient, in time that would be idle."}},
       .bubble = {{Bubble},
                  kIdle,
                  "(p-1)/(3 m)",
                  "p m",
                  [](const LessonSizes& s) { return (s.p - 1) / (3 * s.m); }},
       .held = {{HeldMicrobatches}, kHeld, "p", "p", held_as_stages},
       .because = "Of the three units of each of p-1 microbatches one is left.",
       .breaks = {lost_gradients(), early_read(), lost_send()}});
}

Lesson zb_h2_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return lesson_of(
      {.name = "zb_h2",
       .title = "Pipeline: ZB-H2",
       .summary = "Twice the forwards ahead: no idle time, in twice the memory",
       .schedule = "zb_h2",
       .chunks = "1",
       .text = {"If memory allows, stage 0 runs 2p-1 forwards before its first gradient comes: the "
                "gap of the fill is gone. Weight gradients fill the drain.",
                "From the first action of a rank to its last there is no idle time. Stages still "
                "begin and end one after the other; the next step may begin as they end."},
       .stops = {{0, "layer", StreamOut, "add_1", "Stage 0 runs seven forwards ahead.", "Fill"},
                 {3, "layer", InputGrad, "d_x", "The last stage gives back its first gradient."},
                 {0, "layer", WeightGrad, "d_down", "Weight gradients come last."}},
       .bubble = {{Bubble}, kIdle, "0", "", no_bubble},
       .held = {{HeldMicrobatches},
                kHeld,
                "2 p - 1",
                "p",
                [](const LessonSizes& s) { return 2 * s.p - 1; }},
       .because = "None, from a rank's first action to its last.",
       .breaks = {lost_gradients(), early_read(), lost_send()}});
}

Lesson zb_v_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return lesson_of(
      {.name = "zb_v",
       .title = "Pipeline: ZB-V",
       .summary = "Two chunks on each rank in a V: no idle time, in 1F1B's memory",
       .schedule = "zb_v",
       .chunks = "2",
       .text =
           {"The stages go down the ranks and up again: rank 0 has the first and the last, rank "
            "3 the two in the middle, between which nothing has to be sent.",
            "So rank 0 has both the first forward and the first backward of a microbatch, and "
            "activations are freed in about the order in which they came. No idle time, and no "
            "more memory than 1F1B."},
       .stops = {{0, "embedding", StreamOut, "embedding", "Down: stage 0 sends to rank 1."},
                 {0, "head", StreamInDone, "x",
                  "Up: the microbatch is back on rank 0, which has the head."},
                 {0, "embedding", WeightGrad, "d_table",
                  "The embedding's weight gradient fills a gap."}},
       .bubble = {{Bubble}, kIdle, "0", "", no_bubble},
       .held = {{HeldMicrobatches}, kHeld, "p", "p", held_as_stages},
       .because = "None, where forward and both gradients cost the same.",
       .breaks = {lost_gradients(), lost_send()}});
}

Lesson recompute_lesson() {
  using enum RoutineKind;
  using enum FigureKind;
  return {
      .name = "recompute",
      .title = "Recomputation",
      .summary = "The backward runs each block's forward again, and keeps less",
      .page = "docs/parallelism/recompute.md",
      .model = "tiny",
      .settings = {{"mesh", "dp=2"}, {"plan.recompute", "block"}},
      .text = {"A backward reads what the forward of its block computed. Kept from one to the "
               "other, these activations are most of a rank's memory.",
               "With recomputation only the input of each block is kept. Before a block's backward "
               "its forward runs once more, so that one block's activations are there at a time. "
               "The price is one more forward: a third more work.",
               "It is a routine of its own in the script, the same on every rank, so it combines "
               "with every mesh."},
      .stops = {{0, "layer", Forward, "add_1",
                 "The forward: its result is the next block's input and is kept, all else is "
                 "dropped."},
                {0, "layer", Recompute, "matmul_4",
                 "Before the backward: the forward again, from the kept input."},
                {0, "layer", Backward, "d_x",
                 "The backward is done; the block's activations are free for the next one."}},
      .formulas = {{{ActivationBytes},
                    "bytes of activations on a rank",
                    "(L + 2) A + 4 A + 2 Q + 2 K + 3 M + H + 8 t",
                    "L A Q K M H t",
                    [](const LessonSizes& s) {
                      return (s.L + 6) * s.A + 2 * s.Q + 2 * s.K + 3 * s.M + s.H + 8 * s.t;
                    }}},
      .guesses = {{"Without recomputation a rank keeps 35,753,984 bytes of activations. How many "
                   "with it?",
                   {ActivationBytes},
                   "A stream for every block, and one layer's own activations."}},
      .breaks = {{"skip", "Do not run a forward again",
                  "The backward reads activations that were dropped.",
                  [](int, Program& p) {
                    std::erase_if(calls_of(p), [](const ScriptCall& call) {
                      return call.routine == RoutineKind::Recompute && call.block == 2;
                    });
                  }}},
  };
}

}  // namespace

std::vector<Lesson> pipeline_lessons() {
  return {gpipe_lesson(), one_f_one_b_lesson(), interleaved_lesson(), looped_lesson(),
          zb_h1_lesson(), zb_h2_lesson(),       zb_v_lesson(),        recompute_lesson()};
}

}  // namespace tessera
