// SPDX-License-Identifier: Apache-2.0
// The operand `ends` of a full pool: uneven counts, and now and then an expert without rows. Pools
// with rows to spare are in routes_test.cpp.
#pragma once

#include "ops/op_sample.h"

namespace tessera {

inline SampleOperand ends_of_full_pool(int64_t experts, int64_t slots) {
  return {.type = {DType::Int32, {{"expert", experts}}}, .fill = [=](int64_t e, double) {
            if (e + 1 == experts) return static_cast<double>(experts * slots);
            const int64_t last = e % 3 == 1 ? e - 1 : e;  // the second of three has no rows
            return static_cast<double>((last + 1) * slots - last % 2);
          }};
}

}  // namespace tessera
