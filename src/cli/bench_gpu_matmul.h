// SPDX-License-Identifier: Apache-2.0
// The part of tessera bench matmul that runs on a GPU.
#pragma once

#include <string>
#include <vector>

#include "cli/run_options.h"
#include "measure/matmul_bench.h"

namespace tessera {

// Prints the rate of each matmul in the requested types of fp32, bf16 and fp8 and, if requested,
// how near a training step of a wide mlp comes to it.
void bench_gpu_matmul(const RunOptions& run, const std::vector<NamedMatmul>& matmuls,
                      const std::vector<std::string>& dtypes, bool with_wide_mlp);

}  // namespace tessera
