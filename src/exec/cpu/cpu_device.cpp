// SPDX-License-Identifier: Apache-2.0
// This machine's CPU as a device: ranks are threads of this process, or processes of a job.
#include <numeric>

#include "exec/cpu/matmul_rate.h"
#include "exec/device.h"
#include "exec/mesh_executor.h"
#include "system/this_machine.h"

namespace tessera {
namespace {

class CpuDevice : public Device {
 public:
  std::string why_missing() const override { return ""; }

  DeviceFacts facts() const override {
    return {.name = cpu_model_name(), .memory_bytes = installed_memory_bytes()};
  }

  std::unique_ptr<Executor> make_executor(std::vector<Program> programs,
                                          ExecutorOptions options) const override {
    if (programs.front().mesh.num_ranks() > 1)
      return make_mesh(std::move(programs), std::move(options));
    return std::make_unique<CpuExecutor>(std::move(programs.front()),
                                         options_of_rank(options, 0, nullptr));
  }

  std::unique_ptr<LocalMesh> make_mesh(std::vector<Program> programs,
                                       ExecutorOptions options) const override {
    return std::make_unique<MeshExecutor>(std::move(programs), std::move(options));
  }

  std::unique_ptr<RankExecutor> make_rank(Program program, RankWorld& world,
                                          ExecutorOptions options) const override {
    return std::make_unique<CpuExecutor>(std::move(program),
                                         options_of_rank(options, world.rank(), &world));
  }

  int64_t bytes_of(std::span<const Program> programs) const override {
    int64_t bytes = 0;
    for (int rank = 0; rank < programs.front().mesh.num_ranks(); ++rank)
      bytes += at_place(programs, rank).peak_bytes();
    return bytes;
  }

  // In fp32, whatever the dtype: the CPU's kernels reach no more in another.
  double matmul_rate(Precision /*precision*/, int threads) const override {
    return measure_matmul_rate(threads);
  }
};

}  // namespace

const Device* cpu_device() {
  static const CpuDevice device;
  return &device;
}

}  // namespace tessera
