// SPDX-License-Identifier: Apache-2.0
// The operands chosen, place and source of dispatch and combine: a permutation of a full pool.
#pragma once

#include "ops/op_sample.h"

namespace tessera {

struct RoutesSample {
  Dims tokens;
  int64_t top_k, experts, slots;  // experts * slots = tokens * top_k, no multiple of 7

  int64_t rows() const { return experts * slots; }
  Dims choices() const {
    Dims dims = tokens;
    dims.push_back({"top_k", top_k});
    return dims;
  }
  Dims pool() const { return {{"expert", experts}, {"slot", slots}}; }

  std::vector<SampleOperand> operands() const {
    const int64_t all = rows(), kinds = experts;
    const auto row_of = [all](int64_t i) { return (7 * i + 3) % all; };
    const auto chosen = [=](int64_t i, double) { return static_cast<double>(i % kinds); };
    const auto place = [=](int64_t i, double) { return static_cast<double>(row_of(i)); };
    const auto source = [=](int64_t row, double) {
      int64_t i = 0;
      while (row_of(i) != row) ++i;
      return static_cast<double>(i);
    };
    return {{.type = {DType::Int32, choices()}, .fill = chosen},
            {.type = {DType::Int32, choices()}, .fill = place},
            {.type = {DType::Int32, pool()}, .fill = source}};
  }
};

}  // namespace tessera
