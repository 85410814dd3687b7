// SPDX-License-Identifier: Apache-2.0
// Checks plans of whole models from the graph alone: lifetimes are computed here independently.
#include "passes/memory/plan_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "compiler/compile.h"
#include "compiler/training_pipeline.h"
#include "exec/testing/small_models.h"
#include "ir/op_def.h"

namespace tessera {
namespace {

enum class Routine { Begin, Forward, Evaluate, Backward, Norm, Update, Other };
constexpr std::array kRoutines{Routine::Begin,    Routine::Forward, Routine::Evaluate,
                               Routine::Backward, Routine::Norm,    Routine::Update};

bool runs_in(Phase phase, Routine routine) {
  switch (phase) {
    case Phase::Begin:
      return routine == Routine::Begin;
    case Phase::Forward:
      return routine == Routine::Forward || routine == Routine::Evaluate;
    case Phase::Evaluate:
      return routine == Routine::Evaluate;
    case Phase::InputGrad:
    case Phase::WeightGrad:
      return routine == Routine::Backward;
    case Phase::Norm:
      return routine == Routine::Norm;
    case Phase::Update:
      return routine == Routine::Update;
    default:
      return routine == Routine::Other;  // collectives and padding: no scratch on one rank
  }
}

// A stretch of scratch that must keep its bytes from one position of a routine to another.
struct Claim {
  std::string name;
  int begin, end;
  int64_t offset, bytes;
  ValueId value;  // kNone: a workspace
};

std::vector<Claim> scratch_claims(const Graph& graph, Routine routine) {
  std::vector<Claim> claims;
  std::vector<const Node*> order;
  for (const Node& node : graph.nodes())
    if (runs_in(node.phase, routine)) order.push_back(&node);
  for (size_t at = 0; at < order.size(); ++at) {
    const auto now = static_cast<int>(at);
    for (const ValueId result : order[at]->results) {
      const Value& value = graph.value(result);
      if (value.location.lifetime != Lifetime::Scratch) continue;
      int last = now;
      for (size_t later = at; later < order.size(); ++later)
        if (std::count(order[later]->operands.begin(), order[later]->operands.end(), result))
          last = static_cast<int>(later);
      claims.push_back({value.name, now, last, value.location.offset, value.type.bytes(), result});
    }
    const Location& workspace = order[at]->workspace;
    if (workspace.bytes)
      claims.push_back({"workspace", now, now, workspace.offset, workspace.bytes, kNone});
  }
  return claims;
}

// Whether `later` may overlap `earlier`, whose last reader produces it.
bool allowed_in_place(const Graph& graph, const Claim& earlier, const Claim& later) {
  if (earlier.value == kNone || later.value == kNone || earlier.end != later.begin) return false;
  const Node& node = graph.node(graph.value(later.value).producer);
  for (const InPlace& pair : op_def(node.op).in_place)
    if (node.results[pair.result] == later.value && node.operands[pair.operand] == earlier.value &&
        earlier.offset == later.offset && earlier.bytes == later.bytes &&
        std::count(node.operands.begin(), node.operands.end(), earlier.value) == 1)
      return true;
  return false;
}

void expect_no_clash(const Graph& graph, Routine routine) {
  const std::vector<Claim> claims = scratch_claims(graph, routine);
  for (size_t a = 0; a < claims.size(); ++a)
    for (size_t b = a + 1; b < claims.size(); ++b) {
      const Claim &first = claims[a], &second = claims[b];
      const bool together = first.begin <= second.end && second.begin <= first.end;
      const bool overlap =
          first.offset < second.offset + second.bytes && second.offset < first.offset + first.bytes;
      EXPECT_FALSE(together && overlap && !allowed_in_place(graph, first, second))
          << first.name << " and " << second.name;
    }
}

class PlannedModel : public testing::TestWithParam<SmallModel> {
 protected:
  void SetUp() override {
    training_pipeline({.ema_decay = 0.99}, {}, {.threads = 2}).run(module_, {});
  }
  Module module_ = GetParam().build(DType::Bf16, 2);
};

TEST_P(PlannedModel, NothingAliveSharesScratch) {
  for (const BlockClass& block_class : module_.classes)
    for (const Routine routine : kRoutines) {
      SCOPED_TRACE(block_class.name);
      expect_no_clash(block_class.graph, routine);
    }
}

TEST_P(PlannedModel, WhatAnotherRoutineReadsIsNotInScratch) {
  for (const BlockClass& block_class : module_.classes)
    for (const Node& node : block_class.graph.nodes())
      for (const ValueId operand : node.operands) {
        const Value& value = block_class.graph.value(operand);
        if (value.producer == kNone || value.location.lifetime != Lifetime::Scratch) continue;
        const Phase written = block_class.graph.node(value.producer).phase;
        const bool one_call = std::any_of(kRoutines.begin(), kRoutines.end(), [&](Routine routine) {
          return runs_in(written, routine) && runs_in(node.phase, routine);
        });
        EXPECT_TRUE(one_call) << value.name;
      }
}

TEST_P(PlannedModel, KeptActivationsLieSideBySideInTheSlot) {
  for (const BlockClass& block_class : module_.classes) {
    std::vector<std::pair<int64_t, int64_t>> kept;
    for (ValueId id = 0; id < block_class.graph.num_values(); ++id) {
      const Value& value = block_class.graph.value(id);
      if (value.location.lifetime == Lifetime::Slot)
        kept.emplace_back(value.location.offset, value.type.bytes());
    }
    std::sort(kept.begin(), kept.end());
    int64_t next = 0;
    for (const auto& [offset, bytes] : kept) {
      EXPECT_EQ(offset, next);
      next += align_up(bytes);
    }
    EXPECT_EQ(next, block_class.slot_bytes);
  }
}

TEST_P(PlannedModel, TheScratchArenaIsAsLargeAsItsHighestUse) {
  int64_t highest = 0;
  for (const BlockClass& block_class : module_.classes)
    for (const Routine routine :
         {Routine::Begin, Routine::Evaluate, Routine::Backward, Routine::Norm, Routine::Update})
      for (const Claim& claim : scratch_claims(block_class.graph, routine))
        highest = std::max(highest, claim.offset + align_up(claim.bytes));
  EXPECT_EQ(module_.scratch_bytes, highest);
}

// Of a value in the slot: from its first writer to its last reader in the first part of a split
// backward; the second part runs later.
struct SlotClaim {
  std::string name;
  int begin, end;
  int64_t offset, bytes;
};

std::vector<SlotClaim> slot_claims(const Graph& graph) {
  constexpr int kLater = 1 << 30;
  std::vector<SlotClaim> claims;
  const auto readers = graph.readers();
  for (ValueId id = 0; id < graph.num_values(); ++id) {
    const Value& value = graph.value(id);
    if (value.location.lifetime != Lifetime::Slot) continue;
    const bool early = graph.node(value.producer).phase == Phase::Forward;
    SlotClaim claim{value.name, early ? -1 : value.producer, -1, value.location.offset,
                    value.type.bytes()};
    for (const NodeId reader : readers[static_cast<size_t>(id)])
      claim.end =
          std::max(claim.end, graph.node(reader).phase == Phase::WeightGrad ? kLater : reader);
    for (const GraphOutput& output : graph.outputs())
      if (output.value == id) claim.end = kLater;
    claims.push_back(claim);
  }
  return claims;
}

TEST(PlanMemory, WhatTheSecondPartOfABackwardReadsTakesThePlaceOfWhatTheFirstHasRead) {
  SmallModel model = small_model("Llama");
  model.config.layers = 4;
  const Plan plan = make_plan({.mesh = {{"pp", 2}}, .schedule = "zb_h1"}, {});
  const Compiled compiled = compile(model.build(DType::Bf16, 2), {.plan = plan, .microbatches = 4});
  bool any_shared = false;
  for (const BlockClass& block_class : compiled.module.classes) {
    int64_t sum = 0;
    const std::vector<SlotClaim> claims = slot_claims(block_class.graph);
    for (size_t a = 0; a < claims.size(); ++a) {
      const SlotClaim& first = claims[a];
      sum += align_up(first.bytes);
      for (size_t b = 0; b < a; ++b) {
        const SlotClaim& second = claims[b];
        const bool together = first.begin <= second.end && second.begin <= first.end;
        const bool overlap = first.offset < second.offset + second.bytes &&
                             second.offset < first.offset + first.bytes;
        EXPECT_FALSE(together && overlap) << first.name << " and " << second.name;
        any_shared = any_shared || overlap;
      }
    }
    EXPECT_LE(block_class.slot_bytes, sum) << block_class.name;
  }
  EXPECT_TRUE(any_shared);
}

INSTANTIATE_TEST_SUITE_P(PlanMemory, PlannedModel, testing::ValuesIn(small_models()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tessera
