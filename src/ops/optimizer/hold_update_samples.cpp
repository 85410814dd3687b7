// SPDX-License-Identifier: Apache-2.0
// Updates that are held give infinity, which the suite cannot compare: optimizers_test.cpp does.
#include "ops/op_sample.h"

namespace tessera {
namespace {

OpSample sample(std::string name, double norm_squares, double need) {
  const auto constant = [](double x) {
    return SampleOperand{.type = scalar(DType::Fp64), .fill = [x](int64_t, double) { return x; }};
  };
  return {.name = std::move(name),
          .operands = {constant(norm_squares), constant(need)},
          .attributes = {},
          .flops = 1};
}

}  // namespace

std::vector<OpSample> hold_update_samples() {
  return {sample("rows_to_spare", 2.5, 0.75), sample("just_full", 3, 1),
          sample("no_pool", 0.125, 0)};
}

}  // namespace tessera
