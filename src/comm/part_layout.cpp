// SPDX-License-Identifier: Apache-2.0
#include "comm/part_layout.h"

#include <cstring>

namespace tessera {

PartLayout::PartLayout(const Parts& parts, int64_t part) {
  int64_t outer = parts.outer, inner = parts.inner;
  outer_stride_ = parts.outer_stride;
  middle_ = parts.middle;
  middle_stride_ = parts.middle_stride;
  if (middle_ == 1 || middle_stride_ == inner) {
    inner *= middle_;
    middle_ = 1;
    if (outer == 1 || outer_stride_ == inner) inner *= outer;
  } else if (outer_stride_ == middle_ * middle_stride_) {
    middle_ *= outer;
  }
  // An empty part has no runs; 1 keeps the divisions of run_at defined.
  inner_ = std::max<int64_t>(inner, 1);
  middle_ = std::max<int64_t>(middle_, 1);
  offset_ = part * parts.part_stride;
}

void copy_part(const Source& from, const Target& to, int64_t element_bytes, int64_t begin,
               int64_t end) {
  while (begin < end) {
    const PartLayout::Run source = from.layout.run_at(begin), target = to.layout.run_at(begin);
    const int64_t count = std::min({source.count, target.count, end - begin});
    const std::byte* read = from.data + source.offset * element_bytes;
    std::byte* write = to.data + target.offset * element_bytes;
    if (read != write) std::memcpy(write, read, static_cast<size_t>(count * element_bytes));
    begin += count;
  }
}

Share share_of(int64_t elements, int64_t element_bytes, int member, int members) {
  const int64_t line = std::max<int64_t>(1, 64 / element_bytes);
  const int64_t lines = (elements + line - 1) / line;
  const auto cut = [&](int64_t index) {
    return std::min(elements, lines * index / members * line);
  };
  return {cut(member), cut(member + 1)};
}

}  // namespace tessera
