// SPDX-License-Identifier: Apache-2.0
// The attribute `gaps`: ranges of elements, as in "3-5+9-12", or "none".
#pragma once

#include <charconv>
#include <string>

#include "core/error.h"
#include "core/tensor_type.h"

namespace tessera {

// Calls clear(first, count) for each gap of a tensor of that type.
template <typename Clear>
void for_each_gap(const std::string& gaps, const TensorType& type, Clear&& clear) {
  if (gaps == "none") return;
  const char *at = gaps.data(), *end = at + gaps.size();
  while (at < end) {
    int64_t first = 0, last = 0;
    at = std::from_chars(at, end, first).ptr;
    TESSERA_CHECK(at < end && *at == '-', "gaps {}", gaps);
    at = std::from_chars(at + 1, end, last).ptr;
    TESSERA_CHECK(first <= last && last <= type.num_elements() && (at == end || *at == '+'),
                  "gaps {} of {}", gaps, to_string(type));
    if (first < last) clear(first, last - first);
    ++at;
  }
}

}  // namespace tessera
