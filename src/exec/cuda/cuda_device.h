// SPDX-License-Identifier: Apache-2.0
// The GPU as a device: all ranks of a mesh share one, or a process of a job has one each. What is
// measured is in gpu_matmul.cpp and kernel_times.cpp, jobs are in cuda_job.cpp.
#pragma once

#include "exec/device.h"

namespace tessera {

class CudaDevice : public Device {
 public:
  std::string why_missing() const override;
  DeviceFacts facts() const override;
  std::vector<DevicePlace> places() const override;
  int64_t bytes_in_use() const override;
  std::optional<double> joules() const override;

  std::unique_ptr<Executor> make_executor(std::vector<Program> programs,
                                          ExecutorOptions options) const override;
  std::unique_ptr<LocalMesh> make_mesh(std::vector<Program> programs,
                                       ExecutorOptions options) const override;
  std::unique_ptr<RankExecutor> make_rank(Program program, RankWorld& world,
                                          ExecutorOptions options) const override;
  void take_for_rank(int rank, std::span<const int> machines) const override;
  int64_t bytes_of(std::span<const Program> programs) const override;

  // Measured once for each dtype: a run asks for its peak and for the warning.
  double matmul_rate(Precision precision, int threads) const override;
  // fp32 has no tensor cores.
  std::string slow_dtype_warning(DType dtype) const override;
  std::vector<double> matmul_seconds(std::span<const DeviceMatmul> matmuls) const override;
  std::vector<KernelTime> time_kernels(const Program& program, std::string_view script,
                                       const std::function<bool(OpKind)>& wanted,
                                       double warm_seconds) const override;
  std::unique_ptr<DeviceLinks> make_links(RankWorld& world) const override;
  double copy_rate() const override;
};

}  // namespace tessera
