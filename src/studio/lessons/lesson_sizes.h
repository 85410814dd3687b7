// SPDX-License-Identifier: Apache-2.0
// The sizes that formulas of lessons are made of: from the model, the batch and the mesh alone,
// never from the program that they are compared with.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "config/run_spec.h"

namespace tessera {

struct LessonSizes {
  double P = 0;   // bytes of the parameters, over all ranks
  double Pe = 0;  // of them, of experts
  double Pl = 0;  // of one layer
  double N = 0;   // of the gains of norms
  double A = 0;   // bytes of the stream of one microbatch, on the ranks that share its samples
  double K = 0;   // of keys of one layer and microbatch, over all ranks
  double Q = 0;   // of queries
  double t = 0;   // tokens of a microbatch, on the ranks that share its samples
  double C = 0;   // bytes of choices of experts of a microbatch, over all ranks
  double M = 0;   // of the mlp's inner values of one layer and microbatch
  double H = 0;   // of one number for each token and query head
  double k = 0;   // experts of a token
  double L = 0, m = 0;
  double p = 1, v = 1, d = 1, f = 1, e = 1, c = 1, n = 1;  // n: of tp, or of the one axis
};

LessonSizes sizes_of(const RunSpec& spec);

struct LessonSymbol {
  std::string_view name, meaning;
  double LessonSizes::*value;
};
std::span<const LessonSymbol> lesson_symbols();

}  // namespace tessera
