// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on existing tensors, for tests that combine several calls.
#pragma once

#include <string_view>

#include "ops/testing/sample_call.h"

namespace tessera {

std::vector<HostTensor> run_op(OpKind op, std::vector<HostTensor> operands,
                               const Attributes& attributes = {});

HostTensor random_tensor(TensorType type, std::string_view purpose);  // normal(0, 1)
HostTensor scalar_tensor(DType dtype, double value);
void add_to(HostTensor& sum, const HostTensor& term);  // in double, whatever the dtype

}  // namespace tessera
