// SPDX-License-Identifier: Apache-2.0
// The rotation frequency of a pair of channels.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/attributes.h"

namespace tessera {

// YaRN (Peng et al. 2023): the share of the stretched frequency rises evenly over the pairs between
// the last that turns more than `high` times over the original context and the first that turns
// less than `low` times, both rounded outwards to whole pairs, as in transformers.
inline double yarn_frequency(const Attributes& attributes, double frequency, int64_t pair,
                             int64_t half) {
  const double size = 2.0 * static_cast<double>(half);
  const auto pair_of = [&](double turns) {
    const double ratio = static_cast<double>(attributes.integer("original_context")) /
                         (turns * 2.0 * std::numbers::pi);
    return size * std::log(ratio) / (2.0 * std::log(attributes.real("theta")));
  };
  const double first = std::max(std::floor(pair_of(attributes.real("high_freq_factor"))), 0.0);
  const double last = std::min(std::ceil(pair_of(attributes.real("low_freq_factor"))), size - 1.0);
  const double span = first == last ? 0.001 : last - first;
  const double stretched = std::clamp((static_cast<double>(pair) - first) / span, 0.0, 1.0);
  return frequency * (1.0 - stretched) + frequency / attributes.real("scaling_factor") * stretched;
}

// Llama 3: frequencies with wavelengths much longer than the original context are divided by the
// factor, high frequencies are kept, and those between are interpolated.
inline double frequency_of_pair(const Attributes& attributes, int64_t pair, int64_t half) {
  const double exponent = static_cast<double>(pair) / static_cast<double>(half);
  const double frequency = 1.0 / std::pow(attributes.real("theta"), exponent);
  const double factor = attributes.real("scaling_factor");
  if (factor == 1.0) return frequency;
  if (attributes.word("scaling") == "yarn")
    return yarn_frequency(attributes, frequency, pair, half);
  const double low = attributes.real("low_freq_factor"), high = attributes.real("high_freq_factor");
  const double waves = static_cast<double>(attributes.integer("original_context")) * frequency /
                       (2.0 * std::numbers::pi);
  if (waves > high) return frequency;
  if (waves < low) return frequency / factor;
  const double smooth = (waves - low) / (high - low);
  return (1.0 - smooth) * frequency / factor + smooth * frequency;
}

}  // namespace tessera
