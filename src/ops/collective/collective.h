// SPDX-License-Identifier: Apache-2.0
// What the definitions of collective ops share: `axes` names the mesh axes ("dp+cp") along which
// `ranks` ranks take part; types are those of one rank.
#pragma once

#include "ops/type_rules.h"

namespace tessera {

inline int64_t ranks_of(const OpCall& call) {
  const int64_t ranks = call.attributes.integer("ranks");
  call.require(ranks >= 1, "ranks = {} must be 1 or more", ranks);
  return ranks;
}

// The position of the dim that a word attribute names.
inline size_t dim_attribute(const OpCall& call, std::string_view attribute) {
  const std::string& dim = call.attributes.word(attribute);
  const int index = call.operand(0).index_of(dim);
  call.require(index >= 0, "x {} has no dim {}", to_string(call.operand(0)), dim);
  return static_cast<size_t>(index);
}

inline void divide_dim(const OpCall& call, TensorType& type, size_t dim) {
  const int64_t ranks = ranks_of(call);
  call.require(type.dims[dim].size % ranks == 0, "dim {} ({}) does not divide by {} ranks",
               type.dims[dim].name, type.dims[dim].size, ranks);
  type.dims[dim].size /= ranks;
}

inline Cost moving_cost(const OpCall& call) { return cost_of(call, 0); }

}  // namespace tessera
