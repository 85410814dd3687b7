// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "compiler/training_pipeline.h"
#include "exec/testing/small_models.h"
#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/verifier.h"

namespace tessera {
namespace {

Module local_module(std::vector<Axis> mesh) {
  SmallModel model = small_model("Llama");
  model.seq = 8;
  Module module = model.build(DType::Fp64, 4);
  const Plan plan = make_plan({.mesh = std::move(mesh)}, {.kv_heads = 2});
  training_pipeline({}, plan, {}).run(module, {.stop_after = "localize"});
  return module;
}

Graph& layer(Module& module) {
  return module.classes[static_cast<size_t>(module.find_class("layer"))].graph;
}

Node& first(Graph& graph, OpKind op) {
  for (NodeId id = 0; id < graph.num_nodes(); ++id)
    if (graph.node(id).op == op) return graph.node(id);
  check_failed("op", __FILE__, __LINE__, std::string(name(op)));
}

std::string refusal(const Module& module) {
  try {
    verify_placements(module);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(VerifyPlacements, WhatLocalizeLeavesIsAccepted) {
  for (const std::vector<Axis>& mesh :
       {std::vector<Axis>{{"tp", 2}}, {{"dp", 2}, {"cp", 2}}, {{"fsdp", 1}, {"tp", 4}}})
    EXPECT_EQ(refusal(local_module(mesh)), "accepted");
}

TEST(VerifyPlacements, ASumThatIsNotTakenIsNamed) {
  Module module = local_module({{"tp", 2}});
  Node& sum = first(layer(module), OpKind::all_reduce);
  sum.op = OpKind::accumulate;  // a copy
  sum.attributes = {{"dtype", std::string("same")}};
  const std::string text = refusal(module);
  EXPECT_NE(text.find("on axis tp is said to lie on"), std::string::npos) << text;
}

TEST(VerifyPlacements, ASumThatIsTakenTwiceIsNamed) {
  Module module = local_module({{"tp", 2}});
  Graph& graph = layer(module);
  const Node sum = first(graph, OpKind::all_reduce);
  emit(graph, OpKind::all_reduce, {sum.results[0]},
       {.attributes = sum.attributes, .phase = sum.phase, .name = "twice"});
  const std::string text = refusal(module);
  EXPECT_NE(text.find("it would be taken twice"), std::string::npos) << text;
}

TEST(VerifyPlacements, ASumOverTheWrongAxisIsNamed) {
  Module module = local_module({{"dp", 2}, {"tp", 2}});
  Graph& graph = layer(module);
  Node& sum = first(graph, OpKind::all_reduce);
  sum.attributes.set("axes", std::string("dp"));
  EXPECT_NE(refusal(module).find("no sum is pending"), std::string::npos);
}

Module module_in_rings() {
  SmallModel model = small_model("Llama");
  model.seq = 8;
  Module module = model.build(DType::Fp64, 4);
  const Plan plan =
      make_plan({.mesh = {{"tp", 4}}, .sequence_parallel = true, .tp_overlap = TpOverlap::Ring},
                {.kv_heads = 2});
  training_pipeline({}, plan, {}).run(module, {.stop_after = "ring_matmuls"});
  return module;
}

TEST(VerifyPlacements, RingsAreAccepted) { EXPECT_EQ(refusal(module_in_rings()), "accepted"); }

TEST(VerifyPlacements, APieceAtAnothersPlaceIsNamed) {
  Module module = module_in_rings();
  Node& join = first(layer(module), OpKind::join_pieces);
  std::swap(join.operands[1], join.operands[2]);
  const std::string text = refusal(module);
  EXPECT_NE(text.find("the piece of 1 ranks before, but is put where that of 0 belongs"),
            std::string::npos)
      << text;
}

TEST(VerifyPlacements, APieceThatIsAddedToAnotherIsNamed) {
  Module module = module_in_rings();
  first(layer(module), OpKind::take_piece).attributes.set("hop", int64_t{2});
  EXPECT_NE(refusal(module).find("and is added to that of"), std::string::npos);
}

// Every rank takes the pieces one further: sums are whole, but of the neighbour's piece.
TEST(VerifyPlacements, ASumThatEndsOnAnotherRankIsNamed) {
  Module module = module_in_rings();
  Graph& graph = layer(module);
  for (NodeId id = 0; id < graph.num_nodes(); ++id)
    if (Node& node = graph.node(id); node.op == OpKind::take_piece)
      node.attributes.set("hop", (node.attributes.integer("hop") + 1) % 4);
  EXPECT_NE(refusal(module).find("is said to lie on"), std::string::npos);
}

// The first addition takes the own term twice: that of the rank before is lost.
TEST(VerifyPlacements, ASumThatLacksARankIsNamed) {
  Module module = module_in_rings();
  Node& sum = first(layer(module), OpKind::add);
  sum.operands[0] = sum.operands[1];
  EXPECT_NE(refusal(module).find("is said to lie on"), std::string::npos);
}

}  // namespace
}  // namespace tessera
