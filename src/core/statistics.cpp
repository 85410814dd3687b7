// SPDX-License-Identifier: Apache-2.0
#include "core/statistics.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {

double median(std::vector<double> values) {
  TESSERA_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace tessera
