// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/device_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "exec/device.h"

namespace tessera {
namespace {

constexpr int64_t kBytes = 4 << 20;
constexpr int kRounds = 50;  // a race is not lost every time

class GpuMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(GpuMemory, IsFilledBeforeAnotherStreamReadsIt) {
  const DeviceMemory memory(kBytes);
  const PinnedMemory seen(kBytes);
  const DeviceStream stream;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<std::byte> bytes(kBytes, static_cast<std::byte>(round + 1));
    memory.fill(bytes);
    check_cuda(cudaMemcpyAsync(seen.data(), memory.data(), static_cast<size_t>(kBytes),
                               cudaMemcpyDeviceToHost, stream.get()),
               "read");
    stream.wait();
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), seen.data())) << "round " << round;
  }
}

TEST_F(GpuMemory, IsClearedBeforeAnotherStreamWritesIt) {
  const DeviceStream stream;
  const std::vector<std::byte> expected(kBytes, std::byte{7});
  std::vector<std::byte> seen(kBytes);
  for (int round = 0; round < kRounds; ++round) {
    const DeviceMemory memory(kBytes);
    check_cuda(cudaMemsetAsync(memory.data(), 7, static_cast<size_t>(kBytes), stream.get()),
               "write");
    stream.wait();
    check_cuda(
        cudaMemcpy(seen.data(), memory.data(), static_cast<size_t>(kBytes), cudaMemcpyDeviceToHost),
        "read");
    ASSERT_EQ(seen, expected) << "round " << round;
  }
}

TEST_F(GpuMemory, ATimerThatWasNeverEndedSaysZero) {
  const DeviceStream stream;
  DeviceTimer timer;
  timer.begin(stream);
  EXPECT_EQ(timer.seconds(), 0);
  timer.end(stream);
  EXPECT_GE(timer.seconds(), 0);
}

}  // namespace
}  // namespace tessera
