// SPDX-License-Identifier: Apache-2.0
// Model FLOPs utilisation (MFU): the share of a device's peak that the maths itself takes. What the
// hardware does beyond it (recomputation, masked halves) does not count. Hardware FLOPs utilisation
// (HFU) counts all that the programs run.
#pragma once

namespace tessera {

// 0 where the peak is not known.
inline double model_flops_utilisation(double flops_per_token, double tokens_per_second,
                                      double peak_flops_per_second) {
  return peak_flops_per_second > 0 ? flops_per_token * tokens_per_second / peak_flops_per_second
                                   : 0;
}

inline double hardware_flops_utilisation(double flops_per_step, double step_seconds,
                                         double peak_flops_per_second) {
  return peak_flops_per_second > 0 && step_seconds > 0
             ? flops_per_step / step_seconds / peak_flops_per_second
             : 0;
}

}  // namespace tessera
