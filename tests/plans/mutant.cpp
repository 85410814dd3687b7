// SPDX-License-Identifier: Apache-2.0
#include "mutant.h"

#include <gtest/gtest.h>

#include <atomic>
#include <ostream>
#include <set>

namespace tessera {

std::function<void(int, Program&)> everywhere(std::function<void(Program&)> change) {
  return [change = std::move(change)](int, Program& program) { change(program); };
}

std::function<void(int, Program&)> on_rank_one(std::function<void(Program&)> change) {
  return [change = std::move(change)](int rank, Program& program) {
    if (rank == 1) change(program);
  };
}

void expect_caught(const Mutant& mutant, DType precision) {
  static std::set<std::string> equal;  // plans whose unbroken programs are known to be
  RunSpec spec = mutant.plan.spec();
  spec.precision = precision;
  VerifyOptions options = poisoned();
  if (equal.insert(mutant.plan.name() + std::string(name(precision))).second) {
    ASSERT_TRUE(verify_plan(spec, options).equal());
  }
  std::atomic<int> changed = 0;
  options.change_program = [&, &change = mutant.change](int rank, Program& program) {
    change(rank, program);
    ++changed;
  };
  bool caught = false;
  std::string how;
  try {
    caught = !verify_plan(spec, options).equal();
    how = "verify";
  } catch (const std::exception& error) {
    caught = true;
    how = error.what();
  }
  if (changed == 0 && precision != DType::Fp64)
    GTEST_SKIP() << "the program in " << name(precision) << " has nothing to break so: " << how;
  ASSERT_EQ(changed, mutant.plan.axes.ranks()) << how;
  EXPECT_TRUE(caught);
  testing::Test::RecordProperty("caught_by", how);
}

void PrintTo(const Mutant& mutant, std::ostream* out) { *out << mutant.plan.name(); }

}  // namespace tessera
