// SPDX-License-Identifier: Apache-2.0
// The input that holds a rank's index along some axes.
#pragma once

#include <string>

#include "ir/graph.h"

namespace tessera {

// Found or added; `axes` as a word: "dp+cp".
inline ValueId rank_index(Graph& graph, const std::string& axes) {
  if (const GraphInput* known = graph.find_input(InputKind::Rank, axes)) return known->value;
  return graph.add_input({.kind = InputKind::Rank, .value = kNone, .state = {}}, axes,
                         scalar(DType::Int32));
}

}  // namespace tessera
