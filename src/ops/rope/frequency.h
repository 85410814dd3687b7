// SPDX-License-Identifier: Apache-2.0
// The rotation frequency of a pair of channels.
#pragma once

#include <cmath>
#include <numbers>

#include "ir/attributes.h"

namespace tessera {

// Llama 3: frequencies with wavelengths much longer than the original context are divided by the
// factor, high frequencies are kept, and those between are interpolated.
inline double frequency_of_pair(const Attributes& attributes, int64_t pair, int64_t half) {
  const double exponent = static_cast<double>(pair) / static_cast<double>(half);
  const double frequency = 1.0 / std::pow(attributes.real("theta"), exponent);
  const double factor = attributes.real("scaling_factor");
  if (factor == 1.0) return frequency;
  const double low = attributes.real("low_freq_factor"), high = attributes.real("high_freq_factor");
  const double waves = static_cast<double>(attributes.integer("original_context")) * frequency /
                       (2.0 * std::numbers::pi);
  if (waves > high) return frequency;
  if (waves < low) return frequency / factor;
  const double smooth = (waves - low) / (high - low);
  return (1.0 - smooth) * frequency / factor + smooth * frequency;
}

}  // namespace tessera
