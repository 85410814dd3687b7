// SPDX-License-Identifier: Apache-2.0
#include "samples/config_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr const char* kText =
    "[train]\n"
    "# Why ten.\n"
    "steps = 10\n"
    "seq = 8\n"
    "\n"
    "# Of the plan.\n"
    "[plan]\n"
    "zero = \"1\"\n";

TEST(ConfigText, KeepsTheCommentOfAValueThatIsAnswered) {
  EXPECT_EQ(with_value(kText, {"train.steps", "20", ""}),
            "[train]\n# Why ten.\nsteps = 20\nseq = 8\n\n# Of the plan.\n[plan]\nzero = \"1\"\n");
}

TEST(ConfigText, ReplacesTheCommentOfAValueWithAReasonOfItsOwn) {
  EXPECT_EQ(with_value(kText, {"train.steps", "20", "Planned."}),
            "[train]\n# Planned.\nsteps = 20\nseq = 8\n\n# Of the plan.\n[plan]\nzero = \"1\"\n");
}

TEST(ConfigText, AddsAKeyAtTheEndOfItsSection) {
  EXPECT_EQ(with_value(kText, {"train.batch", "4", ""}),
            "[train]\n# Why ten.\nsteps = 10\nseq = 8\nbatch = 4\n\n# Of the plan.\n[plan]\n"
            "zero = \"1\"\n");
}

TEST(ConfigText, RemovesAKeyWithItsComment) {
  EXPECT_EQ(with_value(kText, {"train.steps", "", ""}),
            "[train]\nseq = 8\n\n# Of the plan.\n[plan]\nzero = \"1\"\n");
}

TEST(ConfigText, IsNotMisledByAKeyThatBeginsInTheSameWay) {
  EXPECT_EQ(with_value("[train]\nseq_of = 1\nseq = 2\n", {"train.seq", "3", ""}),
            "[train]\nseq_of = 1\nseq = 3\n");
}

TEST(ConfigText, PutsANewSectionBeforeThoseThatFollowIt) {
  EXPECT_EQ(with_section(kText, "mesh", {"dp = 2"}),
            "[train]\n# Why ten.\nsteps = 10\nseq = 8\n\n[mesh]\ndp = 2\n\n# Of the plan.\n[plan]\n"
            "zero = \"1\"\n");
  EXPECT_EQ(with_value(kText, {"run.out", "\"x\"", ""}),
            fmt::format("{}\n[run]\nout = \"x\"\n", kText));
}

TEST(ConfigText, RemovesASectionWithItsComment) {
  EXPECT_EQ(with_section(kText, "plan", {}), "[train]\n# Why ten.\nsteps = 10\nseq = 8\n\n");
  EXPECT_EQ(with_section(kText, "train", {}), "# Of the plan.\n[plan]\nzero = \"1\"\n");
}

TEST(ConfigText, BreaksLongComments) {
  const std::string lines = comment_lines(fmt::format("{:a<80} {:b<50}", "", ""));
  EXPECT_EQ(lines, fmt::format("# {:a<80}\n# {:b<50}\n", "", ""));
}

}  // namespace
}  // namespace tessera
