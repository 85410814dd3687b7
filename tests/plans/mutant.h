// SPDX-License-Identifier: Apache-2.0
// A program that is broken on purpose, in one way, and the check that it is caught.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "plan_cases.h"

namespace tessera {

struct Mutant {
  std::string name;
  PlanCase plan;
  std::function<void(int rank, Program&)> change;
};

// The same on every rank.
std::function<void(int, Program&)> everywhere(std::function<void(Program&)> change);
std::function<void(int, Program&)> on_rank_one(std::function<void(Program&)> change);

// Verify must find it unequal, or a check must refuse it, while the unbroken program is equal.
void expect_caught(const Mutant& mutant, DType precision);

// gtest would print bytes.
void PrintTo(const Mutant& mutant, std::ostream* out);

}  // namespace tessera
