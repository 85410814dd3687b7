// SPDX-License-Identifier: Apache-2.0
// Where the elements of one part lie: strides merged where they touch, so that a contiguous part is
// a single run. Elements of a part are numbered 0 .. elements() - 1 in the order outer, middle,
// inner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "comm/communicator.h"

namespace tessera {

class PartLayout {
 public:
  PartLayout() = default;
  PartLayout(const Parts& parts, int64_t part);

  struct Run {
    int64_t offset;  // from the start of the buffer, in elements
    int64_t count;   // elements from there on that follow each other
  };
  Run run_at(int64_t element) const {
    const int64_t row = element / inner_, i = element % inner_;
    const int64_t o = row / middle_, m = row % middle_;
    return {offset_ + o * outer_stride_ + m * middle_stride_ + i, inner_ - i};
  }

 private:
  int64_t outer_stride_ = 0, middle_ = 1, middle_stride_ = 0, inner_ = 1, offset_ = 0;
};

struct Source {
  const std::byte* data = nullptr;
  PartLayout layout;
};
struct Target {
  std::byte* data = nullptr;
  PartLayout layout;
};

// Elements [begin, end) of the part; copying a part onto itself does nothing.
void copy_part(const Source& from, const Target& to, int64_t element_bytes, int64_t begin,
               int64_t end);

// The elements that member `member` of `members` works on: even shares, cut at whole cache lines.
struct Share {
  int64_t begin, end;
};
Share share_of(int64_t elements, int64_t element_bytes, int member, int members);

}  // namespace tessera
