// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

TEST(DType, NamesReadBack) {
  for (const DType dtype :
       {DType::Fp64, DType::Fp32, DType::Bf16, DType::Int32, DType::E4m3, DType::E5m2})
    EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
  EXPECT_EQ(dtype_from_name("fp16"), std::nullopt);
}

TEST(DType, SizesAreThoseOfTheCppTypes) {
  EXPECT_EQ(size_bytes(DType::Int32), 4);
  for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Bf16})
    dispatch_float(dtype, [&]<typename T>() {
      EXPECT_EQ(size_bytes(dtype), static_cast<int64_t>(sizeof(T)));
      EXPECT_EQ(dtype_of<T>(), dtype);
      EXPECT_EQ(accumulator_of(dtype), dtype_of<Accumulator<T>>());
    });
}

TEST(DType, NoFloatKernelRunsOnIntegers) {
  EXPECT_THROW(dispatch_float(DType::Int32, []<typename T>() {}), InternalError);
}

TEST(Bf16, EveryValueSurvivesFp32AndBack) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float wide = to_float(Bf16{static_cast<uint16_t>(bits)});
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(to_bf16(wide)))) << bits;
    } else {
      EXPECT_EQ(to_bf16(wide).bits, bits);
    }
  }
}

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  // 1 + k/128 are neighbours in bf16; halfway goes to the even one.
  EXPECT_EQ(to_float(to_bf16(1.0f + 0.49f / 128)), 1.0f);
  EXPECT_EQ(to_float(to_bf16(1.0f + 0.51f / 128)), 1.0f + 1.0f / 128);
  EXPECT_EQ(to_float(to_bf16(1.0f + 0.5f / 128)), 1.0f);
  EXPECT_EQ(to_float(to_bf16(1.0f + 1.5f / 128)), 1.0f + 2.0f / 128);
  EXPECT_EQ(to_float(to_bf16(std::numeric_limits<float>::max())),
            std::numeric_limits<float>::infinity());
}

TEST(Bf16, ANanWithLowBitsAloneStaysANan) {
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::bit_cast<float>(0xffffffffu)))));
}

}  // namespace
}  // namespace tessera
