// SPDX-License-Identifier: Apache-2.0
// The states of every optimizer go through a checkpoint.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/small_machine.h"
#include "core/testing/temporary_folder.h"
#include "ir/optimizer.h"

namespace tessera {
namespace {

std::vector<std::string> with(OpKind optimizer, std::vector<std::string> overrides) {
  overrides.push_back(fmt::format("train.optimizer={}", name(optimizer)));
  return overrides;
}

TEST(CheckpointedOptimizers, GoOnWithTheSameBitsOnTheSameMesh) {
  for (const OptimizerDef& optimizer : optimizers()) {
    const TemporaryFolder folder;
    const auto overrides =
        with(optimizer.op, {"mesh=fsdp=2", "plan.zero=3", "train.microbatches=1"});
    SmallMachine first(overrides), resumed(overrides);
    for (int step = 1; step <= 2; ++step) first.train_step(step);
    const Checkpoint checkpoint(save(first, {.folder = folder.path()}, 2).path);
    checkpoint.load_states(resumed.executor());
    for (int step = 3; step <= 4; ++step)
      EXPECT_EQ(first.train_step(step), resumed.train_step(step)) << name(optimizer.op);
    EXPECT_EQ(first.states(), resumed.states()) << name(optimizer.op);
  }
}

TEST(CheckpointedOptimizers, AreLoadedOnAnotherMesh) {
  for (const OptimizerDef& optimizer : optimizers()) {
    const TemporaryFolder folder;
    SmallMachine saver(with(optimizer.op, {"mesh=dp=2", "plan.zero=1"}));
    for (int step = 1; step <= 2; ++step) saver.train_step(step);
    const Checkpoint checkpoint(save(saver, {.folder = folder.path()}, 2).path);
    for (const char* mesh : {"mesh=dp=1", "mesh=pp=2", "mesh=tp=2"}) {
      SmallMachine loader(with(optimizer.op, {mesh}));
      checkpoint.load_states(loader.executor());
      EXPECT_EQ(loader.states(), saver.states()) << name(optimizer.op) << " on " << mesh;
    }
  }
}

TEST(CheckpointedOptimizers, AreNotTakenForOneAnother) {
  const TemporaryFolder folder;
  SmallMachine saver(with(optimizers().front().op, {}));
  saver.train_step(1);
  const Checkpoint checkpoint(save(saver, {.folder = folder.path()}, 1).path);
  for (const OptimizerDef& other : optimizers().subspan(1)) {
    SmallMachine loader(with(other.op, {}));
    EXPECT_THROW(checkpoint.load_states(loader.executor()), UserError) << name(other.op);
  }
}

}  // namespace
}  // namespace tessera
