// SPDX-License-Identifier: Apache-2.0
// Sine and cosine in double without branches, so that loops over them vectorise: error below 1e-15
// for |x| < 1.6e6, where the reduction by pi/2 is exact (constants and polynomials are fdlibm's).
#pragma once

#include <cstdint>

#include "exec/cpu/versions.h"

namespace tessera {

struct SinCos {
  double sine, cosine;
};

TESSERA_INLINE SinCos fast_sincos(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: the quadrant is left in the low bits
  constexpr double kTwoOverPi = 6.36619772367581382433e-01;
  constexpr double kHigh = 1.57079632673412561417e+00;  // pi/2, 33 bits at a time
  constexpr double kMiddle = 6.07710050630396597660e-11;
  constexpr double kLow = 2.02226624879595063154e-21;
  const double shifted = x * kTwoOverPi + kRound;
  const double turns = shifted - kRound;
  const int64_t quadrant = __builtin_bit_cast(int64_t, shifted);
  const double r = ((x - turns * kHigh) - turns * kMiddle) - turns * kLow;
  const double z = r * r;

  double s = z * 1.58969099521155010221e-10 - 2.50507602534068634195e-08;
  s = s * z + 2.75573137070700676789e-06;
  s = s * z - 1.98412698298579493134e-04;
  s = s * z + 8.33333333332248946124e-03;
  s = s * z - 1.66666666666666324348e-01;
  s = s * z * r + r;

  double c = z * -1.13596475577881948265e-11 + 2.08757232129817482790e-09;
  c = c * z - 2.75573143513906633035e-07;
  c = c * z + 2.48015872894767294178e-05;
  c = c * z - 1.38888888888741095749e-03;
  c = c * z + 4.16666666666666019037e-02;
  c = c * z * z + (1.0 - 0.5 * z);

  const double sine = quadrant & 1 ? c : s, cosine = quadrant & 1 ? s : c;
  return {quadrant & 2 ? -sine : sine, (quadrant + 1) & 2 ? -cosine : cosine};
}

}  // namespace tessera
