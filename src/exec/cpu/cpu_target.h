// SPDX-License-Identifier: Apache-2.0
// The instruction sets that kernels are compiled for, and the one that this process uses: the best
// that the processor has, or what TESSERA_CPU_TARGET asks for. It never changes while a process
// runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera {

// Each has all of those before it; Base is SSE4 on x86-64 and NEON on ARM.
enum class CpuTarget : uint8_t { Base, Avx2, Avx512, Avx512Bf16 };

std::string_view name(CpuTarget target);  // as in TESSERA_CPU_TARGET

CpuTarget best_cpu_target();
std::vector<CpuTarget> available_cpu_targets();

// Fails for a name that is none, and for what is beyond `best`. Empty: `best`.
CpuTarget parse_cpu_target(std::string_view text, CpuTarget best);

// Fails as parse_cpu_target does, at the first call.
CpuTarget cpu_target();

}  // namespace tessera
