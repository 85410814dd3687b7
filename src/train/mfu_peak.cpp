// SPDX-License-Identifier: Apache-2.0
#include "train/mfu_peak.h"

#include "config/model_of_config.h"
#include "exec/cpu/matmul_rate.h"
#include "exec/gpu_matmul.h"
#include "sim/arithmetic.h"

namespace tessera {

MfuPeak::MfuPeak(const Config& config, const RunFacts& facts, const RankWorld* world, int threads)
    : given_(config.run.peak_gflops * 1e9) {
  if (given_ > 0) return;
  if (config.run.device == "cuda") {
    devices_ = world ? facts.ranks : 1;
    // Nobody shares a GPU, so its peak is measured in every run.
    const Precision precision = precision_of_config(config);
    arithmetic_ = name(matmul_arithmetic(precision));
    device_.emplace(PeakCache({}), facts.device,
                    [precision] { return measure_cuda_matmul_rate(precision); });
    return;
  }
  arithmetic_ = name(Arithmetic::Fp32);
  devices_ = facts.nodes;
  const int used = std::min(world ? facts.device_count / facts.nodes : threads, cores_online());
  device_.emplace(PeakCache(user_cache_folder()),
                  fmt::format("{}, {} thread{}", facts.device, used, used == 1 ? "" : "s"),
                  [used] { return measure_matmul_rate(used); });
}

double MfuPeak::flops_per_second() {
  return device_ ? devices_ * device_->flops_per_second() : given_;
}

double MfuPeak::raise_above(double reached) {
  if (!device_) return 0;
  const double peak = flops_per_second();
  return peak > 0 && reached > peak ? devices_ * device_->raise_above(reached / devices_) : 0;
}

}  // namespace tessera
