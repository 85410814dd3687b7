// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/cpu_target.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/error.h"

namespace tessera {
namespace {

TEST(CpuTarget, ReadsItsOwnNames) {
  for (const CpuTarget target : {CpuTarget::Base, CpuTarget::Avx2, CpuTarget::Avx512})
    EXPECT_EQ(parse_cpu_target(name(target), CpuTarget::Avx512Bf16), target);
  EXPECT_EQ(parse_cpu_target("", CpuTarget::Avx2), CpuTarget::Avx2);
}

std::string refusal(std::string_view text, CpuTarget best) {
  try {
    parse_cpu_target(text, best);
  } catch (const UserError& error) {
    return error.message();
  }
  return "";
}

TEST(CpuTarget, RefusesWhatTheProcessorLacksAndUnknownNames) {
  EXPECT_EQ(refusal("avx512", CpuTarget::Avx2),
            "TESSERA_CPU_TARGET is avx512, but this processor has avx2 at most");
  EXPECT_EQ(refusal("avx", CpuTarget::Avx2),
            "TESSERA_CPU_TARGET is 'avx', which is no instruction set");
}

TEST(CpuTarget, ListsAllUpToTheBest) {
  const auto targets = available_cpu_targets();
  EXPECT_EQ(targets.front(), CpuTarget::Base);
  EXPECT_EQ(targets.back(), best_cpu_target());
}

TEST(CpuTarget, IsWhatTheEnvironmentAsksFor) {
  const char* asked = std::getenv("TESSERA_CPU_TARGET");
  if (asked)
    EXPECT_EQ(name(cpu_target()), asked);
  else
    EXPECT_EQ(cpu_target(), best_cpu_target());
}

}  // namespace
}  // namespace tessera
