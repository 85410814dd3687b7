// SPDX-License-Identifier: Apache-2.0
// Adds a node to a graph: checks the call against the op's signature, fills in attributes left out,
// infers result types.
#pragma once

#include <string>
#include <vector>

#include "ir/op_def.h"

namespace tessera {

struct EmitOptions {
  Attributes attributes = {};
  Phase phase = Phase::Forward;
  std::string name = {};  // of result 0; the others are called <name>_<result>
  SourceLine line = {};   // of the results; not known: stamp_origins finds it
};

std::vector<ValueId> emit(Graph& graph, OpKind op, std::vector<ValueId> operands,
                          EmitOptions options);

// The types that the op gives for these operands; throws a UserError where they do not fit.
std::vector<TensorType> infer_types(OpKind op, const Attributes& attributes,
                                    std::span<const TensorType> operands);

// The op's attributes with defaults filled in; an unknown name or a wrong type is a UserError.
Attributes complete_attributes(OpKind op, const Attributes& given);

std::vector<TensorType> types_of(const Graph& graph, std::span<const ValueId> values);

}  // namespace tessera
