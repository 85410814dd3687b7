// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/convert.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/small_machine.h"
#include "core/convert_elements.h"
#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

class ConvertCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    machine_.train_step(1);
    checkpoint_.emplace(save(machine_, {.folder = folder_.path() / "run" / "checkpoints"}, 1).path);
  }

  TemporaryFolder folder_;
  SmallMachine machine_{{"mesh=dp=2,tp=2", "train.precision=bf16"}};
  std::optional<Checkpoint> checkpoint_;
};

TEST_F(ConvertCheckpoint, ToOneFileAndBackChangesNoBit) {
  const auto file = convert_checkpoint(*checkpoint_, folder_.path() / "all.safetensors", {});
  const Checkpoint single(file);
  single.verify();
  EXPECT_EQ(single.facts().position.next_sample, 4);
  EXPECT_EQ(single.facts().config_toml, checkpoint_->facts().config_toml);
  const auto back = convert_checkpoint(single, folder_.path() / "back", {});
  EXPECT_EQ(back, folder_.path() / "back" / "checkpoints" / "step-00000001");
  const auto trained = machine_.states();
  for (const auto& stored : {file, back}) {
    SmallMachine other({"mesh=pp=2", "train.precision=bf16"});
    ASSERT_NE(other.states(), trained);
    Checkpoint(stored).load_states(other.executor());
    EXPECT_EQ(other.states(), trained) << stored;
  }
}

TEST_F(ConvertCheckpoint, ToWeightsTakesMasterWeightsWhereThereAreAny) {
  const Checkpoint weights(convert_checkpoint(*checkpoint_, folder_.path() / "weights.safetensors",
                                              {.weights = DType::Fp32}));
  EXPECT_LT(weights.tensors().size(), checkpoint_->tensors().size() / 4);
  const auto states = machine_.states();
  for (const auto& [name, tensor] : weights.tensors()) {
    EXPECT_EQ(tensor.dtype, DType::Fp32);
    EXPECT_EQ(weights.read_whole(name), states.at(name + ".master")) << name;
  }
  const Checkpoint rounded(convert_checkpoint(*checkpoint_, folder_.path() / "rounded.safetensors",
                                              {.weights = DType::Bf16}));
  EXPECT_EQ(rounded.read_whole("embedding.table"), states.at("embedding.table"));
}

TEST_F(ConvertCheckpoint, OfAveragesTakesThem) {
  const Checkpoint averages(convert_checkpoint(*checkpoint_,
                                               folder_.path() / "averages.safetensors",
                                               {.weights = DType::Fp32, .averaged = true}));
  EXPECT_EQ(averages.read_whole("embedding.table"),
            machine_.states().at("embedding.table.average"));
  const Checkpoint weights(
      convert_checkpoint(*checkpoint_, folder_.path() / "w.safetensors", {.weights = DType::Fp32}));
  EXPECT_EQ(user_error_of([&] {
              convert_checkpoint(weights, folder_.path() / "x.safetensors",
                                 {.weights = DType::Fp32, .averaged = true});
            }),
            weights.path().string() + " has no embedding.position_table.average");
}

}  // namespace
}  // namespace tessera
