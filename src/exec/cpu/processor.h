// SPDX-License-Identifier: Apache-2.0
// What differs between processors and is no matter of vectors: which instructions there are, and
// the hint that a thread only waits.
#pragma once

namespace tessera {

#if defined(__x86_64__)

inline bool processor_has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}
inline bool processor_has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
inline bool processor_has_bf16_dots() { return __builtin_cpu_supports("avx512bf16"); }
inline void spin_hint() { __builtin_ia32_pause(); }

#else

inline bool processor_has_avx2() { return false; }
inline bool processor_has_avx512() { return false; }
inline bool processor_has_bf16_dots() { return false; }
inline void spin_hint() {}

#endif

}  // namespace tessera
