// SPDX-License-Identifier: Apache-2.0
#include "train/mfu_peak.h"

#include "config/run_spec.h"
#include "exec/device.h"
#include "models/model_size.h"
#include "sim/arithmetic.h"
#include "system/this_machine.h"

namespace tessera {

MfuPeak::MfuPeak(const Config& config, const RunFacts& facts, const RankWorld* world, int threads)
    : given_(config.run.peak_gflops * 1e9) {
  if (given_ > 0) return;
  const Device& device = require_device(config.run.device);
  const Precision precision = resolve_precision(config);
  if (!is_host(config.run.device)) {
    devices_ = world ? facts.ranks : 1;
    // Nobody shares a GPU, so its peak is measured in every run.
    arithmetic_ = name(matmul_arithmetic(precision));
    device_.emplace(PeakCache({}), facts.device,
                    [&device, precision] { return device.matmul_rate(precision, 1); });
    return;
  }
  arithmetic_ = name(Arithmetic::Fp32);
  devices_ = facts.nodes;
  const int used = std::min(world ? facts.device_count / facts.nodes : threads, cores_online());
  device_.emplace(PeakCache(user_cache_folder()),
                  fmt::format("{}, {} thread{}", facts.device, used, used == 1 ? "" : "s"),
                  [&device, precision, used] { return device.matmul_rate(precision, used); });
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
