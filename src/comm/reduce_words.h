// SPDX-License-Identifier: Apache-2.0
// Words that the members of a group sum, or take the largest of, in place.
#pragma once

#include <span>

#include "comm/communicator.h"

namespace tessera {

inline void reduce_words(Communicator& group, std::span<int32_t> words, Reduction reduction,
                         std::string_view name) {
  const Parts parts = contiguous_parts(std::ssize(words));
  auto* data = reinterpret_cast<std::byte*>(words.data());
  group.run({.kind = CollectiveKind::AllReduce,
             .reduction = reduction,
             .dtype = DType::Int32,
             .input = data,
             .input_parts = parts,
             .output = data,
             .output_parts = parts,
             .name = name});
}

}  // namespace tessera
