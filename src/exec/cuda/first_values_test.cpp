// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/first_values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "exec/device.h"

namespace tessera {
namespace {

class GpuFirstValues : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

// The element that differs first from the host's; -1: none.
template <typename T>
int64_t first_difference(const FirstValues& values, const RandomStream& random, double deviation,
                         int64_t first, int64_t count, int64_t* made_on_host = nullptr) {
  const DeviceMemory memory(count * static_cast<int64_t>(sizeof(T)));
  const DeviceStream stream;
  const DType dtype = std::is_same_v<T, Bf16> ? DType::Bf16 : DType::Fp32;
  const int64_t on_host = values.write(dtype, memory.data(), first, count, stream);
  if (made_on_host) *made_on_host = on_host;
  std::vector<T> made(static_cast<size_t>(count));
  check_cuda(
      cudaMemcpy(made.data(), memory.data(), made.size() * sizeof(T), cudaMemcpyDeviceToHost),
      "copy from the GPU");
  for (int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<uint64_t>(first + i);
    const T expected = store<T>(static_cast<Accumulator<T>>(deviation * random.normal(index)));
    if (std::memcmp(&expected, &made[static_cast<size_t>(i)], sizeof(T)) != 0) return i;
  }
  return -1;
}

TEST_F(GpuFirstValues, AreTheHostsBitForBit) {
  const RandomStream random(7, "layer.3.wq");
  const FirstValues values(normal(0.02), random);
  EXPECT_EQ(first_difference<float>(values, random, 0.02, 0, 3'000'001), -1);
  EXPECT_EQ(first_difference<Bf16>(values, random, 0.02, 12345, 3'000'001), -1);
}

TEST_F(GpuFirstValues, AreTheHostsWhereTheHostMakesMany) {
  const RandomStream random(8, "table");
  const FirstValues values(normal(0.1), random, 0x1.0p-30);
  int64_t made_on_host = 0;
  EXPECT_EQ(first_difference<float>(values, random, 0.1, 5, 50'000, &made_on_host), -1);
  EXPECT_GT(made_on_host, 500);
  EXPECT_LT(made_on_host, 5000);
}

TEST_F(GpuFirstValues, OnlyRandomDoublesAreLeftToTheHost) {
  const RandomStream random(8, "table");
  EXPECT_FALSE(FirstValues(normal(0.1), random).can_make(DType::Fp64));
  EXPECT_TRUE(FirstValues(ones(), random).can_make(DType::Fp64));
  EXPECT_TRUE(FirstValues(normal(0.1), random).can_make(DType::Fp32));
}

}  // namespace
}  // namespace tessera
