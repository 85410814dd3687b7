// SPDX-License-Identifier: Apache-2.0
// Checks, for every sample of every op, that its kernel does what the op's definition claims. A
// check runs for the samples to which it applies; none is skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ops/testing/conformance_case.h"
#include "ops/testing/sample_call.h"

namespace tessera {
namespace {

constexpr DType kDtypes[] = {DType::Fp64, DType::Fp32, DType::Bf16};

double tolerance(const OpSample& sample, DType compute, DType result) {
  if (compute == DType::Bf16 || result == DType::Bf16) return sample.tolerance_bf16;
  return compute == DType::Fp32 || result == DType::Fp32 ? sample.tolerance_fp32 : 1e-13;
}

class EveryOp : public testing::TestWithParam<ConformanceCase> {
 protected:
  const OpSample& sample() const { return GetParam().sample; }
  const OpDef& def() const { return op_def(GetParam().op); }
  SampleCall call(DType compute) const { return sample_call(GetParam().op, sample(), compute); }
};
class AccumulatingOp : public EveryOp {};
class InPlaceOp : public EveryOp {};

TEST_P(EveryOp, WritesEveryElementOfTheInferredTypes) {
  EXPECT_EQ(def().name, name(GetParam().op));
  for (const DType dtype : kDtypes) {
    SCOPED_TRACE(name(dtype));
    const SampleCall sampled = call(dtype);
    EXPECT_LE(sampled.result_types.size(), def().results.size());
    const auto results = run_kernel(sampled);
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_EQ(results[i].first_unwritten(), -1)
          << "result " << i << " " << to_string(results[i].type());
  }
}

TEST_P(EveryOp, Fp32AndBf16MatchFp64) {
  for (const DType dtype : {DType::Fp32, DType::Bf16}) {
    const SampleCall rounded = call(dtype);
    const auto results = run_kernel(rounded);
    const auto exact = run_kernel(exact_call(GetParam().op, sample(), rounded));
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_LE(relative_error(results[i], exact[i]),
                tolerance(sample(), dtype, results[i].type().dtype))
          << name(dtype) << ", result " << i;
  }
}

TEST_P(EveryOp, ThreadsDoNotChangeBits) {
  for (const DType dtype : kDtypes) {
    const SampleCall sampled = call(dtype);
    const auto alone = run_kernel(sampled);
    for (const int threads : {2, 3}) {
      const auto together = run_kernel(sampled, {.threads = threads});
      for (size_t i = 0; i < alone.size(); ++i)
        EXPECT_TRUE(together[i].same_bits(alone[i]))
            << name(dtype) << ", " << threads << " threads, result " << i;
    }
  }
}

// The workspace is between guards, and is filled with two kinds of garbage.
TEST_P(EveryOp, WorkspaceIsEnough) {
  for (const DType dtype : kDtypes) {
    const SampleCall sampled = call(dtype);
    const auto once = run_kernel(sampled, {.threads = 2, .workspace_fill = std::byte{0xff}});
    const auto again = run_kernel(sampled, {.threads = 2, .workspace_fill = std::byte{0x3c}});
    for (size_t i = 0; i < once.size(); ++i)
      EXPECT_TRUE(again[i].same_bits(once[i])) << name(dtype) << ", result " << i;
  }
}

TEST_P(EveryOp, CostMatchesHandCount) {
  for (const DType dtype : kDtypes) {
    const SampleCall sampled = call(dtype);
    const Cost cost = def().cost(sampled.types());
    const bool reads_a_part = sampled.op == OpKind::take_piece || sampled.op == OpKind::take_part;
    const int64_t unread =
        reads_a_part ? sampled.operand_types[0].bytes() - sampled.result_types[0].bytes() : 0;
    EXPECT_EQ(cost.bytes + unread,
              bytes_of(sampled.operand_types) + bytes_of(sampled.result_types));
    EXPECT_EQ(cost.flops, std::max<int64_t>(0, sample().flops));
  }
}

TEST_P(EveryOp, PrintsAndParsesBack) {
  for (const DType dtype : kDtypes) {
    const SampleCall sampled = call(dtype);
    Graph graph;
    add_sample_node(graph, sampled, sample());
    for (GraphInput& input : graph.inputs())  // a block takes one stream, a sample may take several
      if (input.kind == InputKind::Stream) input.kind = InputKind::Batch;
    Module module;
    module.name = "sample";
    module.classes.push_back({.name = "only", .graph = std::move(graph), .slot_bytes = 0});
    const std::string text = print(module);
    const Module parsed = parse_module(text);
    EXPECT_EQ(print(parsed), text);
    EXPECT_EQ(parsed.classes[0].graph.node(0).op, GetParam().op);
    EXPECT_EQ(parsed.classes[0].graph.node(0).attributes, sampled.attributes) << text;
  }
}

TEST_P(AccumulatingOp, AccumulateAddsToWhatWasThere) {
  for (const DType dtype : kDtypes) {
    const SampleCall sampled = call(dtype);
    const auto fresh = run_kernel(sampled);
    const AddingRun adding = adding_run(GetParam().op, fresh);
    const auto sums = run_kernel(sampled, adding.run);
    for (size_t i = 0; i < fresh.size(); ++i)
      EXPECT_LE(relative_error(sums[i], adding.expected[i]),
                tolerance(sample(), dtype, sums[i].type().dtype))
          << name(dtype) << ", result " << i;
  }
}

// Whether the sample has that result, and it is like the operand.
bool may_be_in_place(const SampleCall& call, const InPlace& pair) {
  return pair.result < call.result_types.size() &&
         call.operand_types[pair.operand] == call.result_types[pair.result];
}

// Each pair alone, and as many as fit together.
TEST_P(InPlaceOp, InPlaceChangesNothing) {
  for (const DType dtype : kDtypes) {
    const SampleCall sampled = call(dtype);
    const auto apart = run_kernel(sampled, {.threads = 2});
    std::vector<std::vector<InPlace>> choices;
    std::vector<InPlace> together;
    for (const InPlace& pair : def().in_place) {
      const bool has_all = sampled.result_types.size() == def().results.size();
      if (!has_all && !may_be_in_place(sampled, pair)) continue;
      ASSERT_TRUE(may_be_in_place(sampled, pair));
      choices.push_back({pair});
      if (std::ranges::find(together, pair.result, &InPlace::result) == together.end())
        together.push_back(pair);
    }
    choices.push_back(together);
    for (const auto& pairs : choices) {
      const auto over = run_kernel(sampled, {.threads = 2, .in_place = pairs});
      for (size_t i = 0; i < apart.size(); ++i)
        EXPECT_TRUE(over[i].same_bits(apart[i]))
            << name(dtype) << ", result " << i << " with result " << pairs[0].result
            << " over operand " << pairs[0].operand;
    }
  }
}

TEST(OpConformance, AnOpWithoutSamplesFails) {
  for (int i = 0; i < kNumOps; ++i) {
    const auto op = static_cast<OpKind>(i);
    std::set<std::string> names;
    for (const OpSample& sample : samples_of(op)) names.insert(sample.name);
    EXPECT_GE(names.size(), 3u) << name(op) << " needs three samples with names of their own";
  }
}

bool any(const ConformanceCase&) { return true; }
bool accumulates(const ConformanceCase& c) { return !op_def(c.op).accumulates.empty(); }
bool works_in_place(const ConformanceCase& c) { return !op_def(c.op).in_place.empty(); }

INSTANTIATE_TEST_SUITE_P(OpConformance, EveryOp, testing::ValuesIn(conformance_cases(any)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(OpConformance, AccumulatingOp,
                         testing::ValuesIn(conformance_cases(accumulates)), case_name);
INSTANTIATE_TEST_SUITE_P(OpConformance, InPlaceOp,
                         testing::ValuesIn(conformance_cases(works_in_place)), case_name);

}  // namespace
}  // namespace tessera
