// SPDX-License-Identifier: Apache-2.0
// The GPU as a machine that runs programs. Builds without CUDA have the same functions, which say
// so: CMake chooses the file.
#pragma once

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "core/error.h"
#include "exec/local_mesh.h"

namespace tessera {

// CUDA's own variable for it: an error is told by the call that made it.
inline bool launches_block() {
  const char* value = std::getenv("CUDA_LAUNCH_BLOCKING");
  return value && std::string_view(value) != "0";
}

struct CudaExecutorOptions {
  // Waits after every instruction, so that an error names the one that made it; slow.
  bool wait_for_each = launches_block();
  bool poison = false;  // fill arenas with NaNs first, and buffers again when they die
  // Told of every instruction when its script is done, with the GPU's times. Steps are no graphs
  // while there is one.
  RankObserver observer = {};
};

// Why there is no GPU to run on; empty where there is one.
std::string missing_gpu();
bool built_with_cuda();
void require_gpu();  // a UserError where there is none

struct GpuFacts {
  std::string name;
  double memory_bytes = 0;
  bool has_fp8 = false;  // its tensor cores multiply 8-bit floats
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

// A step takes more of the GPU's memory than is free; nothing was allocated.
class GpuMemoryError : public UserError {
 public:
  GpuMemoryError(int64_t needed, int64_t free, int64_t all);
  int64_t free_bytes() const { return free_bytes_; }

 private:
  int64_t free_bytes_;
};

// What the ranks of these programs, by place along the pipeline, take of the GPU's memory.
int64_t cuda_bytes(std::span<const Program> programs);

// By place along the pipeline; all ranks share the GPU. A UserError where there is none, a
// GpuMemoryError where its memory is too small.
std::unique_ptr<Executor> make_cuda_executor(std::vector<Program> programs,
                                             CudaExecutorOptions options = {});
// Of a job whose processes have a GPU each: takes this rank's. `machines`, by rank, says which ones
// share a machine. Comes before anything else is asked of a GPU.
void take_gpu_of_rank(int rank, std::span<const int> machines);
// This rank's part of such a job, over NCCL; `world` carries what the hosts say to each other.
std::unique_ptr<RankExecutor> make_cuda_rank(Program program, RankWorld& world,
                                             CudaExecutorOptions options = {});
// The same for a mesh of any size, one rank too.
std::unique_ptr<LocalMesh> make_cuda_mesh(const std::vector<Program>& programs,
                                          CudaExecutorOptions options = {});

}  // namespace tessera
