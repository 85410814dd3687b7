// SPDX-License-Identifier: Apache-2.0
#include "exec/device.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/testing/user_error_of.h"
#include "exec/testing/small_models.h"

namespace tessera {
namespace {

TEST(Devices, HaveARowForTheCpuInEveryBuild) {
  EXPECT_EQ(why_missing(DeviceKind::Cpu), "");
  EXPECT_EQ(&require_device(DeviceKind::Cpu), cpu_device());
  EXPECT_GT(cpu_device()->facts().memory_bytes, 0);
  EXPECT_EQ(cpu_device()->slow_dtype_warning(DType::Fp32), "");
}

TEST(Devices, SayWhyTheyCannotBeUsed) {
  const std::string why = why_missing(DeviceKind::Cuda);
  if (why.empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(user_error_of([] { require_device(DeviceKind::Cuda); }), why);
  if (!find_device(DeviceKind::Cuda)) {
    EXPECT_EQ(why, "this build has no CUDA support");
  }
}

TEST(Devices, CountTheBytesOfAllRanks) {
  const SmallModel model = small_model("Llama");
  const auto programs =
      compile(model.build(DType::Fp32, 4),
              {.plan = make_plan({.mesh = {{"dp", 2}}}, {.kv_heads = model.config.kv_heads})})
          .programs;
  EXPECT_EQ(cpu_device()->bytes_of(programs), 2 * programs.front().peak_bytes());
  EXPECT_EQ(cpu_device()->make_executor(programs, {})->planned_bytes(),
            cpu_device()->bytes_of(programs));
}

}  // namespace
}  // namespace tessera
