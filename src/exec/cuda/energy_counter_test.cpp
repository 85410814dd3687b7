// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/energy_counter.h"

#include <gtest/gtest.h>

#include "exec/device.h"

namespace tessera {
namespace {

TEST(EnergyCounter, SaysNothingWithoutNvml) {
  EXPECT_EQ(EnergyCounter("0000:00:00.0", "libno-such-nvml.so").joules(), std::nullopt);
}

TEST(EnergyCounter, SaysNothingWhereTheLibraryHasNoCounter) {
  EXPECT_EQ(EnergyCounter("0000:00:00.0", "libm.so.6").joules(), std::nullopt);
}

TEST(EnergyCounter, GrowsWhileTheGpuWorks) {
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  const Device& device = require_device(DeviceKind::Cuda);
  const std::optional<double> before = device.joules();
  if (!before) GTEST_SKIP() << "the GPU has no energy counter";
  for (int i = 0; i < 300 && *device.joules() <= *before; ++i) device.copy_rate();  // it lags
  EXPECT_GT(*device.joules(), *before);
}

}  // namespace
}  // namespace tessera
