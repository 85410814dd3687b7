// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/optimizer_samples.h"

namespace tessera {

std::vector<OpSample> adamw_samples() {
  const SampleFill squares = [](int64_t, double u) { return u * u; };
  std::vector<OpSample> samples = optimizer_samples({.slots = {{}, squares}}, 15);
  samples[1].attributes.set("beta2", 0.999);
  return samples;
}

}  // namespace tessera
