// SPDX-License-Identifier: Apache-2.0
// Code that is compiled once for each instruction set. A file of such code begins with
// each_target.h, which reads the file again for each set, and keeps what it defines in the
// namespace of the set, HWY_NAMESPACE. What is outside calls a version by TESSERA_VERSION.
#pragma once

#include "exec/cpu/cpu_target.h"

#define TESSERA_INLINE inline __attribute__((always_inline))

// The version of function `name` for an instruction set, and the one that this process uses. Only
// after `#if HWY_ONCE`, where all versions are known.
#define TESSERA_VERSION_FOR(target, name)                      \
  ::tessera::version_for<decltype(HWY_STATIC_DISPATCH(name))>( \
      target, HWY_CHOOSE_AVX3(name), HWY_CHOOSE_AVX2(name), &HWY_STATIC_DISPATCH(name))
#define TESSERA_VERSION(name) TESSERA_VERSION_FOR(::tessera::cpu_target(), name)
// Defines tessera::name, an op's kernel, by its versions.
#define TESSERA_KERNEL(name) \
  void name(const CpuCall& call) { TESSERA_VERSION(name)(call); }

namespace tessera {

// Null: not compiled for this machine.
template <typename F>
F* version_for(CpuTarget target, F* avx512, F* avx2, F* base) {
  if (avx512 && target >= CpuTarget::Avx512) return avx512;
  return avx2 && target >= CpuTarget::Avx2 ? avx2 : base;
}

}  // namespace tessera
