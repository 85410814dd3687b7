// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/parser.h"
#include "ir/verifier.h"

namespace tessera {
namespace {

const char* const kClasses = R"(module m maths
class first {
  batch %x: fp32[b=2, d=4]
  state %w: fp32[d=4] parameter zeros
  %y = bias_add(%x, %w)
  return stream %y
}
class layer {
  stream %x: fp32[b=2, d=4]
  state %w: fp32[d=4] parameter zeros
  %y = bias_add(%x, %w)
  return stream %y
}
class tied_layer {
  stream %x: fp32[b=2, d=4]
  state %w: fp32[d=4] parameter zeros tied
  %y = bias_add(%x, %w)
  return stream %y
}
class wide {
  stream %x: fp32[b=2, d=8]
  %y = relu(%x)
  return stream %y
}
class other {
  batch %x: fp32[b=2, d=4]
  state %v: fp32[b=2, d=4] parameter zeros
  %y = add(%x, %v)
  return stream %y
}
)";

std::string refusal(const std::string& blocks) {
  try {
    parse_module(kClasses + blocks);
  } catch (const UserError& error) {
    return error.message();
  }
  return "accepted";
}

TEST(VerifyBlocks, AcceptsAChainWithATie) {
  EXPECT_EQ(refusal("block a = first\nblock b = layer\nblock c = tied_layer w=a.w\n"), "accepted");
}

TEST(VerifyBlocks, BlocksHaveNamesOfTheirOwn) {
  EXPECT_EQ(refusal("block a = first\nblock a = layer\n"), "two blocks are called a");
}

TEST(VerifyBlocks, AStreamComesFromTheBlockBefore) {
  EXPECT_EQ(refusal("block a = layer\n"),
            "block a takes the stream %x, but no block before it returns one");
}

TEST(VerifyBlocks, AReturnedStreamIsTaken) {
  EXPECT_EQ(refusal("block a = first\nblock b = first\n"),
            "block a returns the stream %y, but block b does not take it");
}

TEST(VerifyBlocks, TheStreamKeepsItsType) {
  EXPECT_EQ(refusal("block a = first\nblock b = wide\n"),
            "block b takes fp32[b=2, d=8], but block a returns fp32[b=2, d=4]");
}

TEST(VerifyBlocks, ATieNamesAParameterOfTheClass) {
  EXPECT_EQ(refusal("block a = first\nblock b = layer v=a.w\n"),
            "block b ties v, which its class does not have");
}

TEST(VerifyBlocks, ATieNamesABlock) {
  EXPECT_EQ(refusal("block a = first\nblock b = tied_layer w=z.w\n"),
            "block b ties w to z.w: there is no such block");
  EXPECT_EQ(refusal("block a = first\nblock b = tied_layer w=w\n"),
            "block b ties w to w: there is no such block");
}

TEST(VerifyBlocks, ATieNamesAParameterOfThatBlock) {
  EXPECT_EQ(refusal("block a = first\nblock b = tied_layer w=a.v\n"),
            "block b ties w to a.v: there is no such parameter");
}

TEST(VerifyBlocks, TiedParametersHaveOneType) {
  EXPECT_EQ(refusal("block a = other\nblock b = tied_layer w=a.v\n"),
            "block b ties w (fp32[d=4]) to a.v (fp32[b=2, d=4]): the types differ");
}

TEST(VerifyBlocks, AnOwnerIsNotTiedItself) {
  EXPECT_EQ(refusal("block a = first\nblock b = tied_layer w=a.w\nblock c = tied_layer w=b.w\n"),
            "block c ties w to b.w, which is tied itself");
}

TEST(VerifyBlocks, BlocksOfOneClassTieTheSameParameters) {
  EXPECT_EQ(refusal("block a = first\nblock b = tied_layer\n"),
            "block b does not tie w, but its class says otherwise");
  EXPECT_EQ(refusal("block a = first\nblock b = layer w=a.w\n"),
            "block b ties w, but its class says otherwise");
}

}  // namespace
}  // namespace tessera
