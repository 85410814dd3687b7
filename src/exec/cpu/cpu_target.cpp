// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/cpu_target.h"

#include <fmt/ranges.h>

#include <array>
#include <cstdlib>

#include "core/error.h"
#include "exec/cpu/processor.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"base", "avx2", "avx512", "avx512_bf16"};

}  // namespace

std::string_view name(CpuTarget target) { return kNames.at(static_cast<size_t>(target)); }

CpuTarget best_cpu_target() {
  if (!processor_has_avx2()) return CpuTarget::Base;
  if (!processor_has_avx512()) return CpuTarget::Avx2;
  return processor_has_bf16_dots() ? CpuTarget::Avx512Bf16 : CpuTarget::Avx512;
}

std::vector<CpuTarget> available_cpu_targets() {
  std::vector<CpuTarget> targets;
  for (size_t i = 0; i <= static_cast<size_t>(best_cpu_target()); ++i)
    targets.push_back(static_cast<CpuTarget>(i));
  return targets;
}

CpuTarget parse_cpu_target(std::string_view text, CpuTarget best) {
  if (text.empty()) return best;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] != text) continue;
    if (i <= static_cast<size_t>(best)) return static_cast<CpuTarget>(i);
    throw user_error("TESSERA_CPU_TARGET is {}, but this processor has {} at most", text,
                     name(best))
        .help("leave TESSERA_CPU_TARGET unset to use the best that the processor has");
  }
  throw user_error("TESSERA_CPU_TARGET is '{}', which is no instruction set", text)
      .help(fmt::format("use one of {}", fmt::join(kNames, ", ")));
}

CpuTarget cpu_target() {
  static const CpuTarget target = [] {
    const char* text = std::getenv("TESSERA_CPU_TARGET");
    return parse_cpu_target(text ? text : "", best_cpu_target());
  }();
  return target;
}

}  // namespace tessera
