// SPDX-License-Identifier: Apache-2.0
// A lesson's step: compiled, with the time of every instruction where a forward and both gradients
// of a rank cost one unit each, and with its figures.
#pragma once

#include "compiler/compile.h"
#include "schedule/schedule_timing.h"
#include "studio/asked_run.h"
#include "studio/lessons/lesson.h"

namespace tessera {

// When a call of a script runs. What is neither forward nor backward takes no time: it begins when
// the rank's work before it ends.
struct CallTime {
  double begin = 0, end = 0;
};

struct LessonRun {
  Lesson lesson;
  AskedRun asked;
  RunSpec spec;
  Compiled compiled;
  ScheduleTiming timing;
  std::vector<std::vector<CallTime>> times;  // by program and call

  const std::vector<Program>& programs() const { return compiled.programs; }
};

AskedRun asked_lesson(const Lesson& lesson);
LessonRun compile_lesson(Lesson lesson);

// All instructions of a program's step, in order; its ranks are at one of them.
struct LessonPosition {
  int call = 0, index = 0;
};
std::vector<LessonPosition> positions_of(const Program& program);
const Instruction& instruction_at(const Program& program, const LessonPosition& position);

// Where every program is, moment by moment: positions, -1 before the first. From one moment to the
// next at least one of them moves on, each by one instruction at most.
struct LessonMoments {
  std::vector<double> times;
  std::vector<std::vector<int>> positions;  // by moment and program
};
LessonMoments moments_of(const LessonRun& run);

double figure_of(const LessonRun& run, const LessonFigure& figure);
std::string_view unit_of(const LessonFigure& figure);  // "bytes", "" for a share

// The instruction of a stop: the only one of its routine that writes, or sends, a value of that
// name. An InternalError where there is none, or more than one.
struct FoundStop {
  int class_index = 0, index = 0, position = 0;  // the first time that it runs
};
FoundStop find_stop(const LessonRun& run, const LessonStop& stop);

}  // namespace tessera
