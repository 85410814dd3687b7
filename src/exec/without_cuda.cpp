// SPDX-License-Identifier: Apache-2.0
// What builds without CUDA say.
#include "exec/device_executor.h"
#include "exec/gpu_matmul.h"
#include "exec/kernel_times.h"

namespace tessera {
namespace {

UserError no_cuda() {
  return UserError(missing_gpu())
      .help("`make cuda` builds one that runs on GPUs (docs/gpu.md); or use --device cpu");
}

}  // namespace

bool built_with_cuda() { return false; }
std::string missing_gpu() { return "this tessera was built without CUDA"; }

void require_gpu() { throw no_cuda(); }

GpuFacts gpu_facts() { throw no_cuda(); }

std::vector<GpuPlace> gpu_places() { return {}; }

int64_t gpu_bytes_in_use() { throw no_cuda(); }

int64_t cuda_bytes(std::span<const Program> /*programs*/) { throw no_cuda(); }

std::unique_ptr<Executor> make_cuda_executor(std::vector<Program> /*programs*/,
                                             CudaExecutorOptions /*options*/) {
  throw no_cuda();
}

void take_gpu_of_rank(int /*rank*/, std::span<const int> /*machines*/) { throw no_cuda(); }

std::unique_ptr<RankExecutor> make_cuda_rank(Program /*program*/, RankWorld& /*world*/,
                                             CudaExecutorOptions /*options*/) {
  throw no_cuda();
}

std::unique_ptr<LocalMesh> make_cuda_mesh(const std::vector<Program>& /*programs*/,
                                          CudaExecutorOptions /*options*/) {
  throw no_cuda();
}

std::vector<double> gpu_matmul_seconds(std::span<const GpuMatmul> /*matmuls*/) { throw no_cuda(); }

double measure_cuda_matmul_rate(Precision /*precision*/) { throw no_cuda(); }

std::vector<KernelTime> time_cuda_kernels(const Program& /*program*/, std::string_view /*script*/,
                                          const std::function<bool(OpKind)>& /*wanted*/,
                                          double /*warm_seconds*/) {
  throw no_cuda();
}

double measure_cuda_copy_rate() { throw no_cuda(); }
std::string slow_dtype_warning(DType /*dtype*/) { throw no_cuda(); }

}  // namespace tessera
