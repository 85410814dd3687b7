// SPDX-License-Identifier: Apache-2.0
// Each test breaks one invariant of a module that holds all of them.
#include "ir/verifier.h"

#include <gtest/gtest.h>

#include "ir/op_def.h"
#include "ir/parser.h"

namespace tessera {
namespace {

const char* const kMaths = R"(module m maths
class first {
  batch %x: fp32[b=2, d=4]
  state %w: fp32[d=4] parameter zeros
  %y = bias_add(%x, %w)
  %z = relu(%y)
  return stream %z
}
block first = first
)";

const char* const kPlanned = R"(module m planned scratch=64
class first slot=64 {
  batch %x: fp32[b=2, d=4]
  state %w: fp32[d=4] parameter zeros
  %y: fp32[b=2, d=4] at scratch+0:32 = bias_add(%x, %w)
  %z: fp32[b=2, d=4] at slot+0:32 = relu(%y)
  return stream %z
}
block first = first
)";

class Verifier : public testing::Test {
 protected:
  Graph& graph() { return module_.classes.front().graph; }
  Value& value(std::string_view name) { return graph().value(graph().find_value(name)); }

  // Our own bug: the message holds the detail among expression, file and line.
  void expect_bug(const std::string& detail) {
    try {
      verify(module_);
      FAIL() << "passed, instead of: " << detail;
    } catch (const InternalError& error) {
      EXPECT_NE(std::string(error.what()).find(detail), std::string::npos) << error.what();
    }
  }

  void expect_refused(const std::string& message) {
    try {
      verify(module_);
      FAIL() << "passed, instead of: " << message;
    } catch (const UserError& error) {
      EXPECT_EQ(error.message(), message);
    }
  }

  Module module_ = parse_module(kMaths);
};

TEST_F(Verifier, AcceptsAModuleThatKeepsEveryInvariant) {
  EXPECT_NO_THROW(verify(module_));
  EXPECT_NO_THROW(verify(parse_module(kPlanned)));
}

TEST_F(Verifier, AnOperandIsDefinedBeforeItsUse) {
  graph().rebuild({graph().node(1), graph().node(0)});
  expect_bug("relu reads %y before it is defined");
}

TEST_F(Verifier, AValueHasOneProducer) {
  graph().node(1).results = graph().node(0).results;
  expect_bug("%y is defined twice");
}

TEST_F(Verifier, AnOutputIsDefined) {
  graph().node(1).results.clear();
  expect_bug("an output is not defined");
}

TEST_F(Verifier, ResultTypesAreThoseTheOpInfers) {
  value("z").type.dtype = DType::Bf16;
  expect_bug("types of relu are stale");
}

TEST_F(Verifier, EveryStateSaysHowItBegins) {
  graph().inputs()[1].state.reset();
  expect_bug("%w");
}

TEST_F(Verifier, ADimStandsOnceInAType) {
  value("x").type.dims = {{"d", 4}, {"d", 4}};
  for (const char* result : {"y", "z"}) value(result).type = value("x").type;
  expect_refused("%x: dim d appears twice in fp32[d=4, d=4]");
}

TEST_F(Verifier, ADimHasAtLeastOneElement) {
  for (const char* each : {"x", "y", "z"}) value(each).type.dims[0].size = 0;
  expect_refused("%x: dim b has size 0");
}

TEST_F(Verifier, BytesCanBeCounted) {
  for (const char* each : {"x", "y", "z"}) value(each).type.dims[0].size = int64_t{1} << 59;
  expect_refused("%x: fp32[b=576460752303423488, d=4] has more bytes than can be counted");
}

TEST_F(Verifier, AnEarlierPhaseNeverReadsALaterOne) {
  module_.form = Form::Step;
  graph().node(0).phase = Phase::InputGrad;
  expect_bug("relu (forward) reads %y of input_grad");
}

TEST_F(Verifier, BothHalvesOfTheBackwardMayReadEachOther) {
  module_.form = Form::Step;
  graph().node(0).phase = Phase::WeightGrad;
  graph().node(1).phase = Phase::InputGrad;
  EXPECT_NO_THROW(verify(module_));
}

TEST_F(Verifier, TheStepNeverReadsWhatOnlyEvaluateComputes) {
  module_.form = Form::Step;
  graph().node(0).phase = Phase::Evaluate;
  graph().node(1).phase = Phase::InputGrad;
  expect_bug("the step reads %y of evaluate");
}

TEST_F(Verifier, MathsHasNoBackward) {
  graph().node(1).phase = Phase::InputGrad;
  expect_bug("input_grad in form maths");
}

TEST_F(Verifier, AClassReturnsWhatItComputes) {
  graph().outputs()[0].value = graph().find_value("x");
  expect_refused("class first returns its input %x");
}

TEST_F(Verifier, AValueIsReturnedOnce) {
  graph().add_output({.kind = OutputKind::Step,
                      .value = graph().find_value("z"),
                      .target = "size",
                      .accumulates = false});
  expect_refused("class first returns %z twice");
}

TEST_F(Verifier, WhatAddsUpComesFromAnOpThatCanAdd) {
  graph().outputs()[0] = {.kind = OutputKind::Step,
                          .value = graph().find_value("z"),
                          .target = "size",
                          .accumulates = true};
  expect_refused("class first returns %z, which adds up over microbatches, but relu cannot add");
}

TEST_F(Verifier, WhatAddsUpIsNotReadBeforeItIsWhole) {
  module_ = parse_module(R"(module m maths
class first {
  batch %x: fp32[b=2, d=4]
  %y = accumulate(%x)
  %z = relu(%y)
  return stream %z
}
)");
  graph().add_output({.kind = OutputKind::Step,
                      .value = graph().find_value("y"),
                      .target = "size",
                      .accumulates = true});
  expect_refused("class first: relu reads %y, which is whole only after the last microbatch");
}

TEST_F(Verifier, AClassReturnsOneStream) {
  graph().add_output({.kind = OutputKind::Stream,
                      .value = graph().find_value("y"),
                      .target = {},
                      .accumulates = false});
  expect_refused("class first takes 0 streams and returns 2: at most one each");
}

TEST_F(Verifier, AParameterIsUpdatedOnce) {
  module_.form = Form::Step;
  for (const char* result : {"y", "z"}) {
    graph().outputs().clear();
    graph().node(graph().value(graph().find_value(result)).producer).phase = Phase::Update;
  }
  for (const char* result : {"y", "z"})
    graph().add_output({.kind = OutputKind::State,
                        .value = graph().find_value(result),
                        .target = "w",
                        .accumulates = false});
  expect_bug("w is updated 2 times");
}

TEST_F(Verifier, EveryResultHasAPlace) {
  module_ = parse_module(kPlanned);
  value("y").location = {};
  expect_bug("%y has no place");
}

TEST_F(Verifier, ScratchLiesInsideTheArena) {
  module_ = parse_module(kPlanned);
  value("y").location.offset = 64;
  expect_bug("%y is outside the scratch arena");
}

TEST_F(Verifier, SlotsLieInsideTheBlocksSlot) {
  module_ = parse_module(kPlanned);
  value("z").location.offset = 64;
  expect_bug("%z is outside the slot");
}

TEST_F(Verifier, WorkspacesLieInsideTheArena) {
  module_ = parse_module(kPlanned);
  graph().node(0).workspace = {.lifetime = Lifetime::Scratch, .offset = 64, .bytes = 64};
  expect_bug("the workspace of bias_add is outside the scratch arena");
}

}  // namespace
}  // namespace tessera
