// SPDX-License-Identifier: Apache-2.0
#include "exec/instruction_runner.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tessera {
namespace {

const TensorType kShard{DType::Fp32, {{"d", 4}}}, kWhole{DType::Fp32, {{"d", 8}}};

// A machine that copies at once, and one whose copies run beside kernels.
ByteMover mover(int64_t& copied, bool starts_copies) {
  const auto copy = [&copied](std::byte* to, const std::byte* from, int64_t bytes) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    copied += bytes;
  };
  ByteMover mover{.copy = copy, .clear = nullptr};
  if (starts_copies) mover.start_copy = copy;
  return mover;
}

// Bytes that the instruction copies on a rank that is alone, from a buffer of one type to another.
int64_t run(const Instruction& instruction, const TensorType& from, const TensorType& to,
            bool starts_copies = false) {
  std::vector<float> input(8, 1.0F), output(8);
  const RankGroups groups(Mesh{}, std::vector<Group>{Group{}}, nullptr);
  int64_t copied = 0;
  const TensorRef operand{&from, reinterpret_cast<std::byte*>(input.data())};
  const TensorRef result{&to, reinterpret_cast<std::byte*>(output.data())};
  InstructionRunner(groups, mover(copied, starts_copies))
      .run(instruction, -1, {&operand, 1}, {&result, 1});
  return copied;
}

std::string refusal(const Instruction& instruction, const TensorType& from, const TensorType& to,
                    bool starts_copies = false) {
  try {
    run(instruction, from, to, starts_copies);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "none";
}

TEST(InstructionRunner, AGroupOfOneCopiesItsInput) {
  const Instruction gather{.what = CollectiveInstruction{.op = CollectiveOp::AllGather}};
  EXPECT_EQ(run(gather, kShard, kShard), kShard.bytes());
}

// Neither reads beyond the input nor leaves a part of the output as it was.
TEST(InstructionRunner, RefusesACopyBetweenDifferentSizes) {
  const Instruction gather{.what = CollectiveInstruction{.op = CollectiveOp::AllGather}};
  const Instruction copied{.what = CopyInstruction{}},
      started{.what = CopyInstruction{.async = true}};
  EXPECT_NE(refusal(gather, kShard, kWhole).find("would copy fp32[d=4] to fp32[d=8]"),
            std::string::npos)
      << refusal(gather, kShard, kWhole);
  for (const Instruction& instruction : {gather, copied, started})
    for (const bool starts_copies : {false, true}) {
      EXPECT_NE(refusal(instruction, kShard, kWhole, starts_copies), "none");
      EXPECT_NE(refusal(instruction, kWhole, kShard, starts_copies), "none");
    }
}

}  // namespace
}  // namespace tessera
