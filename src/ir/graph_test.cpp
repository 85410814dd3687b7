// SPDX-License-Identifier: Apache-2.0
#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/emit.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

const TensorType kRow{DType::Fp32, {{"d", 4}}};

class GraphTest : public testing::Test {
 protected:
  ValueId input(const std::string& name) {
    return graph_.add_input({.kind = InputKind::Stream, .value = kNone, .state = {}}, name, kRow);
  }
  ValueId call(OpKind op, std::vector<ValueId> operands, const std::string& name) {
    return emit(graph_, op, std::move(operands), {.name = name}).front();
  }
  Graph graph_;
};

TEST_F(GraphTest, NamesStayUnique) {
  const ValueId x = input("x");
  EXPECT_EQ(graph_.value(call(OpKind::relu, {x}, "x")).name, "x_1");
  EXPECT_EQ(graph_.value(call(OpKind::relu, {x}, "x")).name, "x_2");
  EXPECT_EQ(graph_.value(call(OpKind::relu, {x}, "")).name, "relu");
}

TEST_F(GraphTest, ReadersComeInNodeOrderOncePerOperand) {
  const ValueId x = input("x");
  const ValueId y = call(OpKind::relu, {x}, "y");
  call(OpKind::add, {x, x}, "z");
  EXPECT_EQ(graph_.readers()[static_cast<size_t>(x)], (std::vector<NodeId>{0, 1, 1}));
  EXPECT_TRUE(graph_.readers()[static_cast<size_t>(y)].empty());
}

TEST_F(GraphTest, RebuildDropsValuesOfDroppedNodesAndRenumbersTheRest) {
  const ValueId x = input("x");
  call(OpKind::relu, {x}, "dropped");
  const ValueId y = call(OpKind::relu, {x}, "y");
  const ValueId z = call(OpKind::add, {x, y}, "z");
  graph_.add_output({.kind = OutputKind::Stream, .value = z, .target = {}, .accumulates = false});
  graph_.rebuild({graph_.node(1), graph_.node(2)});
  ASSERT_EQ(graph_.num_nodes(), 2);
  EXPECT_EQ(graph_.num_values(), 3);
  EXPECT_EQ(graph_.find_value("dropped"), kNone);
  const ValueId kept = graph_.find_value("z");
  EXPECT_EQ(graph_.value(kept).producer, 1);
  EXPECT_EQ(graph_.outputs().front().value, kept);
  EXPECT_EQ(graph_.node(1).operands[1], graph_.find_value("y"));
}

TEST_F(GraphTest, RebuildRefusesToDropWhatAKeptNodeReads) {
  const ValueId y = call(OpKind::relu, {input("x")}, "y");
  call(OpKind::relu, {y}, "z");
  EXPECT_THROW(graph_.rebuild({graph_.node(1)}), InternalError);
}

}  // namespace
}  // namespace tessera
