// SPDX-License-Identifier: Apache-2.0
#include "compiler/translate_node.h"

#include <gtest/gtest.h>

#include "ir/emit.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

const Mesh kMesh({{"pp", 4}, {"dp", 2}, {"tp", 3}});

// One node of an op on a tensor of 4 x 6 x 12 elements.
struct OneNode {
  Graph graph;

  OneNode(OpKind op, Attributes attributes) {
    const ValueId x = graph.add_input({.kind = InputKind::Batch, .value = kNone, .state = {}}, "x",
                                      {DType::Fp32, {{"batch", 4}, {"seq", 6}, {"d", 12}}});
    emit(graph, op, {x}, {.attributes = std::move(attributes)});
  }

  Instruction translated() const {
    std::vector<Group> groups;
    add_groups(graph, kMesh, groups);
    return translate_node(graph.node(0), types_of(graph, graph.node(0).operands), groups);
  }
};

CollectiveInstruction collective(OpKind op, Attributes attributes) {
  return *OneNode(op, std::move(attributes)).translated().as<CollectiveInstruction>();
}

const Attribute kTwo = int64_t{2};

TEST(TranslateNode, DimsBecomeNumbers) {
  const auto gather =
      collective(OpKind::all_gather, {{"axes", "dp"}, {"ranks", kTwo}, {"dim", "seq"}});
  EXPECT_EQ(gather.op, CollectiveOp::AllGather);
  EXPECT_EQ(gather.split, kNone);
  EXPECT_EQ(gather.join, 1);
  const auto scatter =
      collective(OpKind::reduce_scatter, {{"axes", "dp"}, {"ranks", kTwo}, {"dim", "d"}});
  EXPECT_EQ(scatter.split, 2);
  EXPECT_EQ(scatter.join, kNone);
  EXPECT_EQ(scatter.reduction, Reduction::Sum);
  const auto exchange = collective(
      OpKind::all_to_all, {{"axes", "dp"}, {"ranks", kTwo}, {"split", "d"}, {"join", "batch"}});
  EXPECT_EQ(exchange.split, 2);
  EXPECT_EQ(exchange.join, 0);
}

TEST(TranslateNode, AReductionIsAnEnum) {
  const auto largest =
      collective(OpKind::all_reduce,
                 {{"axes", "dp"}, {"ranks", kTwo}, {"async", int64_t{1}}, {"reduction", "max"}});
  EXPECT_EQ(largest.reduction, Reduction::Max);
  EXPECT_TRUE(largest.async);
  EXPECT_EQ(largest.input, 0);
  EXPECT_EQ(largest.output, 1);
}

TEST(TranslateNode, GroupsAreSortedAndStandOnce) {
  Graph graph;
  const ValueId x = graph.add_input({.kind = InputKind::Batch, .value = kNone, .state = {}}, "x",
                                    {DType::Fp32, {{"d", 12}}});
  for (const auto& [axes, ranks] : std::vector<std::pair<std::string, int64_t>>{
           {"tp", 3}, {"dp+tp", 6}, {"tp", 3}, {"pp-0-3", 2}, {"dp", 1}})
    emit(graph, OpKind::all_reduce, {x}, {.attributes = {{"axes", axes}, {"ranks", ranks}}});
  std::vector<Group> groups;
  add_groups(graph, kMesh, groups);
  const std::vector<Group> wanted{make_group(kMesh, {}), make_group(kMesh, {1, 2}),
                                  make_group(kMesh, {0}, {0, 3}), make_group(kMesh, {2})};
  EXPECT_EQ(groups, wanted);
  const auto alone = translate_node(graph.node(4), types_of(graph, graph.node(4).operands), groups);
  EXPECT_EQ(alone.as<CollectiveInstruction>()->group, 0);
}

TEST(TranslateNode, RanksMustBeThoseOfTheGroup) {
  EXPECT_THROW(collective(OpKind::all_reduce, {{"axes", "tp"}, {"ranks", kTwo}}), InternalError);
}

std::vector<ElementRange> ranges(const std::string& gaps) {
  return OneNode(OpKind::clear_gaps, {{"gaps", gaps}}).translated().as<ClearInstruction>()->ranges;
}

TEST(TranslateNode, PaddingBecomesRanges) {
  EXPECT_EQ(ranges("none"), std::vector<ElementRange>{});
  EXPECT_EQ(ranges("3-5+9-9+280-288"), (std::vector<ElementRange>{{3, 5}, {280, 288}}));
  for (const char* text : {"3", "5-3", "3-289", "3-5,9-12", "x"})
    EXPECT_THROW(ranges(text), InternalError) << text;
}

TEST(TranslateNode, OtherOpsAreKernels) {
  const Instruction instruction = OneNode(OpKind::accumulate, {}).translated();
  ASSERT_NE(instruction.as<KernelInstruction>(), nullptr);
  EXPECT_EQ(instruction.as<KernelInstruction>()->op, OpKind::accumulate);
  EXPECT_EQ(std::vector<int>(reads(instruction).begin(), reads(instruction).end()),
            std::vector<int>{0});
}

}  // namespace
}  // namespace tessera
