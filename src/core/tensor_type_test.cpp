// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_type.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const TensorType kStream{DType::Bf16, {{"batch", 4}, {"seq", 64}, {"d", 8}}};

TEST(TensorType, PrintsDtypeAndNamedDims) {
  EXPECT_EQ(to_string(kStream), "bf16[batch=4, seq=64, d=8]");
  EXPECT_EQ(to_string(scalar(DType::Fp64)), "fp64[]");
}

TEST(TensorType, CountsElementsAndBytes) {
  EXPECT_EQ(kStream.num_elements(), 2048);
  EXPECT_EQ(kStream.bytes(), 4096);
  EXPECT_EQ(scalar(DType::Fp64).bytes(), 8);
  EXPECT_EQ(with_dtype(kStream, DType::Fp64).bytes(), 16384);
}

TEST(TensorType, FindsDimsByName) {
  EXPECT_EQ(kStream.index_of("seq"), 1);
  EXPECT_EQ(kStream.size_of("seq"), 64);
  EXPECT_FALSE(kStream.has("heads"));
  EXPECT_THROW(kStream.size_of("heads"), InternalError);
}

TEST(TensorType, InnermostDimsMustAgreeInNameSizeAndOrder) {
  EXPECT_TRUE(ends_with(kStream.dims, {{"seq", 64}, {"d", 8}}));
  EXPECT_TRUE(ends_with(kStream.dims, {}));
  EXPECT_FALSE(ends_with(kStream.dims, {{"d", 8}, {"seq", 64}}));
  EXPECT_FALSE(ends_with(kStream.dims, {{"d", 9}}));
  EXPECT_FALSE(ends_with({{"d", 8}}, kStream.dims));
  EXPECT_TRUE(begins_with(kStream.dims, {{"batch", 4}, {"seq", 64}}));
  EXPECT_FALSE(begins_with(kStream.dims, {{"seq", 64}}));
}

}  // namespace
}  // namespace tessera
