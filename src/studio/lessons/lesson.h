// SPDX-License-Identifier: Apache-2.0
// A lesson: a run of a tiny model, words about it, stops in its compiled program, formulas that
// must give the program's own figures, questions to guess at first, and ways to break it. Nothing
// of it is drawn: a stop that names no instruction, or a formula that is off, fails a test.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "studio/lessons/lesson_sizes.h"

namespace tessera {

// A figure of the compiled step. Sent bytes are those of rank 0; `op` and `axes` pick some of its
// collectives, empty ones all.
enum class FigureKind : uint8_t {
  SentBytes,
  SentByAllBytes,    // summed over all ranks
  Collectives,       // calls with more than one rank, on rank 0
  Bubble,            // idle over useful time, where forward and both gradients cost the same
  HeldMicrobatches,  // whose activations rank 0 holds at once, at most
  ParameterBytes,
  GradientBytes,
  OptimizerBytes,
  ActivationBytes
};

struct LessonFigure {
  FigureKind kind = FigureKind::SentBytes;
  std::string_view op = {}, axes = {};
};

struct LessonStop {
  int place = 0;  // along the pipeline
  std::string_view block_class;
  RoutineKind routine;
  std::string_view what;  // the name of a value that it writes (or sends); unique in the routine
  std::string_view sentence;
  std::string_view name = {};  // a word for it; empty: that of its routine
  int microbatch = -1;         // -1: the first that runs
};

struct LessonFormula {
  LessonFigure figure;
  std::string_view what;     // that it counts
  std::string_view text;     // with the symbols of LessonSizes
  std::string_view symbols;  // those of the text, with spaces between them
  double (*value)(const LessonSizes&);
};

struct LessonGuess {
  std::string_view question;
  LessonFigure figure;
  std::string_view because;
};

struct LessonBreak {
  std::string_view name, title, what;
  void (*change)(int rank, Program& program);
};

struct LessonSetting {
  std::string_view key, value;
};

struct Lesson {
  std::string_view name, title, summary;
  std::string_view page;  // of docs
  std::string_view model;
  std::vector<LessonSetting> settings;
  std::vector<std::string_view> text;  // paragraphs
  std::vector<LessonStop> stops;
  std::vector<LessonFormula> formulas;
  std::vector<LessonGuess> guesses;
  std::vector<LessonBreak> breaks;
};

// In the order of learning.
std::vector<Lesson> lessons();
Lesson find_lesson(std::string_view name);  // a UserError where there is none

// Parts of the list.
std::vector<Lesson> data_lessons();
std::vector<Lesson> sharded_lessons();
std::vector<Lesson> tensor_lessons();
std::vector<Lesson> context_lessons();
std::vector<Lesson> pipeline_lessons();
std::vector<Lesson> expert_lessons();

}  // namespace tessera
