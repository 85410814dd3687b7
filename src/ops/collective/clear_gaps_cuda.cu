// SPDX-License-Identifier: Apache-2.0
// Copies what is not there yet, then clears.
#include <charconv>

#include "exec/cuda/kernel_launch.h"

namespace tessera {

void clear_gaps_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0), y = call.result(0);
  if (x.data != y.data)
    check_cuda(cudaMemcpyAsync(y.data, x.data, static_cast<size_t>(y.type->bytes()),
                               cudaMemcpyDeviceToDevice, call.stream),
               "copy a buffer");
  const std::string& gaps = call.attributes.word("gaps");
  if (gaps == "none") return;
  const int64_t element = size_bytes(y.type->dtype);
  const char *at = gaps.data(), *end = at + gaps.size();
  while (at < end) {
    int64_t first = 0, last = 0;
    at = std::from_chars(at, end, first).ptr;
    TESSERA_CHECK(at < end && *at == '-', "gaps {}", gaps);
    at = std::from_chars(at + 1, end, last).ptr;
    TESSERA_CHECK(first <= last && last <= y.type->num_elements() && (at == end || *at == '+'),
                  "gaps {} of {}", gaps, to_string(*y.type));
    if (first < last)
      check_cuda(cudaMemsetAsync(y.data + first * element, 0,
                                 static_cast<size_t>((last - first) * element), call.stream),
                 "clear a gap");
    ++at;
  }
}

}  // namespace tessera
