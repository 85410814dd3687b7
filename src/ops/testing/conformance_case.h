// SPDX-License-Identifier: Apache-2.0
// The parameter of the conformance tests: one sample of one op, from op_list.def.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/op_sample.h"
#include "ops/testing/sample_call.h"

namespace tessera {

struct ConformanceCase {
  OpKind op;
  OpSample sample;
};

std::vector<OpSample> samples_of(OpKind op);
std::vector<ConformanceCase> conformance_cases(bool (*wanted)(const ConformanceCase&));

std::string case_name(const testing::TestParamInfo<ConformanceCase>& info);  // "<op>_<sample>"
void PrintTo(const ConformanceCase& c, std::ostream* out);

// Adds inputs as the sample marks them, and the node.
NodeId add_sample_node(Graph& graph, const SampleCall& call, const OpSample& sample);

}  // namespace tessera
