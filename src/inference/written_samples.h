// SPDX-License-Identifier: Apache-2.0
// What a model wrote while it was trained, in columns beside each other, so that learning is seen
// at a glance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct WrittenSample {
  int64_t step = 0;
  std::string text;
};

// The first, the second and the last sample, under the steps they were written at; nothing where
// there are fewer than two.
std::string beside_each_other(const std::vector<WrittenSample>& samples);

}  // namespace tessera
