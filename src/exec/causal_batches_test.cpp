// SPDX-License-Identifier: Apache-2.0
#include "exec/causal_batches.h"

#include <gtest/gtest.h>

#include <numeric>

#include "compiler/compile.h"
#include "exec/testing/small_models.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

class CausalBatchesTest : public testing::Test {
 protected:
  static constexpr int kMicrobatches = 2;
  CausalBatchesTest()
      : compiled_(
            compile(small_model("Llama").build(DType::Fp32, 2), {.microbatches = kMicrobatches})),
        batches_(program()) {}

  const Program& program() { return compiled_.program(); }
  const HostBuffer& input(const char* name) { return *program().find_batch_input(name); }
  std::vector<int32_t> counting() {
    std::vector<int32_t> words(static_cast<size_t>(input("positions").type.num_elements()));
    const auto seq = static_cast<size_t>(input("positions").type.dims.back().size);
    for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<int32_t>(i % seq);
    return words;
  }
  void note(const char* name, int microbatch, const std::vector<int32_t>& words) {
    batches_.note(input(name), microbatch, std::as_bytes(std::span(words)));
  }
  void note_plain() {
    for (int m = 0; m < kMicrobatches; ++m) {
      note("positions", m, counting());
      note("document", m, std::vector<int32_t>(counting().size(), 5));
    }
  }

  Compiled compiled_;
  CausalBatches batches_;
};

TEST_F(CausalBatchesTest, AreNotPlainBeforeAllIsWritten) {
  EXPECT_FALSE(batches_.plain());
  note("positions", 0, counting());
  note("document", 0, std::vector<int32_t>(counting().size(), 0));
  EXPECT_FALSE(batches_.plain());
}

TEST_F(CausalBatchesTest, ArePlainWithOneDocumentToARow) {
  note_plain();
  EXPECT_TRUE(batches_.plain());
  std::vector<int32_t> by_row(counting().size(), 1);
  by_row.resize(by_row.size() / 2);
  by_row.resize(counting().size(), 2);
  note("document", 1, by_row);
  EXPECT_TRUE(batches_.plain());
}

TEST_F(CausalBatchesTest, AreNotPlainWithTwoDocumentsInARow) {
  note_plain();
  std::vector<int32_t> document(counting().size(), 0);
  document.back() = 1;
  note("document", 1, document);
  EXPECT_FALSE(batches_.plain());
}

TEST_F(CausalBatchesTest, AreNotPlainWhereAPositionIsOutOfOrder) {
  note_plain();
  std::vector<int32_t> positions = counting();
  std::swap(positions[1], positions[2]);
  note("positions", 0, positions);
  EXPECT_FALSE(batches_.plain());
}

TEST_F(CausalBatchesTest, SayWhatOneDocumentMeansForAttentionAlone) {
  int attentions = 0, others = 0;
  for (const ProgramBlock& block : program().blocks)
    for (const auto& routine : program().class_of(block).routines)
      for (const Instruction& instruction : routine) {
        const bool attends =
            name(instruction) == "attention" || name(instruction) == "attention_grad";
        EXPECT_EQ(batches_.follows(block, instruction), attends) << name(instruction);
        ++(attends ? attentions : others);
      }
  EXPECT_GT(attentions, 0);
  EXPECT_GT(others, 0);
}

}  // namespace
}  // namespace tessera
