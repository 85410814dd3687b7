// SPDX-License-Identifier: Apache-2.0
// Where the time of a step went: of one rank, or means over ranks and steps. Runs and simulations
// fill it; records, reports and commands read it by its table of parts, so that a new part is a
// field and a row.
#pragma once

#include <array>
#include <cmath>
#include <limits>

namespace tessera {

// In seconds; NaN: not known.
struct StepTimes {
  double compute_seconds = 0;
  double exposed_communication_seconds = 0;  // in collectives, or waiting for them
  double bubble_seconds = 0;         // waiting for another stage, or for the last rank to end
  double data_seconds = 0;           // waiting for the next batch
  double other_seconds = 0;          // the rest of the step: copies of the batch, step values
  double between_steps_seconds = 0;  // checkpoints, held-out losses, samples, progress

  // Sums of what is known: of the program, of the step around it, of the run around that.
  double program_seconds() const;
  double step_seconds() const;
  double total_seconds() const;

  // Whether it was recorded where the program's time went.
  bool known() const { return !std::isnan(program_seconds()); }

  StepTimes& operator+=(const StepTimes& other);
  StepTimes& operator/=(double steps);
};

enum class TimeScope { Program, Step, Run };

struct TimePart {
  const char* key;    // in metrics.jsonl and in --json
  const char* label;  // in reports
  double StepTimes::*seconds;
  TimeScope scope;
  bool recorded = true;  // false: follows from other figures of the record
};

inline constexpr std::array<TimePart, 6> kTimeParts{{
    {"compute_seconds", "compute", &StepTimes::compute_seconds, TimeScope::Program},
    {"exposed_communication_seconds", "exposed communication",
     &StepTimes::exposed_communication_seconds, TimeScope::Program},
    {"bubble_seconds", "bubble", &StepTimes::bubble_seconds, TimeScope::Program},
    {"data_seconds", "data", &StepTimes::data_seconds, TimeScope::Step},
    {"other_seconds", "other, within the step", &StepTimes::other_seconds, TimeScope::Step, false},
    {"between_steps_seconds", "other, between steps", &StepTimes::between_steps_seconds,
     TimeScope::Run, false},
}};

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
inline constexpr StepTimes kUnknownTimes{.compute_seconds = kUnknown,
                                         .exposed_communication_seconds = kUnknown,
                                         .bubble_seconds = kUnknown,
                                         .data_seconds = kUnknown};

// The program's parts must all be known; of the others those count that are.
inline double sum_of_parts(const StepTimes& times, TimeScope most) {
  double sum = 0;
  for (const TimePart& part : kTimeParts) {
    const double seconds = times.*part.seconds;
    if (part.scope <= most && (part.scope == TimeScope::Program || !std::isnan(seconds)))
      sum += seconds;
  }
  return sum;
}

inline double StepTimes::program_seconds() const { return sum_of_parts(*this, TimeScope::Program); }
inline double StepTimes::step_seconds() const { return sum_of_parts(*this, TimeScope::Step); }
inline double StepTimes::total_seconds() const { return sum_of_parts(*this, TimeScope::Run); }

inline StepTimes& StepTimes::operator+=(const StepTimes& other) {
  for (const TimePart& part : kTimeParts) this->*part.seconds += other.*part.seconds;
  return *this;
}

inline StepTimes& StepTimes::operator/=(double steps) {
  for (const TimePart& part : kTimeParts) this->*part.seconds /= steps;
  return *this;
}

}  // namespace tessera
