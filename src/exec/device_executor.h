// SPDX-License-Identifier: Apache-2.0
// The GPU as a machine that runs programs. Builds without CUDA have the same functions, which say
// so: CMake chooses the file.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exec/executor.h"

namespace tessera {

struct CudaExecutorOptions {
  // Waits after every instruction, so that an error names the one that made it; slow.
  bool wait_for_each = false;
};

// What run.device may be in this build.
std::vector<std::string_view> device_names();

// Why there is no GPU to run on; empty where there is one.
std::string missing_gpu();

struct GpuFacts {
  std::string name;
  double memory_bytes = 0;
};

// Of the one that runs programs. A UserError where there is none.
GpuFacts gpu_facts();

// A GPU on the bus, and those that it reaches over links of their own, by address. Nothing where
// there is none.
struct GpuPlace {
  std::string name;
  std::string address;  // "0000:1b:00.0"
  std::set<std::string> nvlinked = {};
};
std::vector<GpuPlace> gpu_places();

// Of all its memory, by whomever.
int64_t gpu_bytes_in_use();

// One rank. A UserError where there is no GPU.
std::unique_ptr<Executor> make_cuda_executor(Program program, CudaExecutorOptions options = {});

}  // namespace tessera
