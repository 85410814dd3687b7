// SPDX-License-Identifier: Apache-2.0
// Samples of a model's text during training, in columns next to each other, so that progress is
// visible at a glance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct WrittenSample {
  int64_t step = 0;
  std::string text;
};

// The first, the second and the last sample, under the steps they were written at; nothing if there
// are fewer than two.
std::string beside_each_other(const std::vector<WrittenSample>& samples);

}  // namespace tessera
