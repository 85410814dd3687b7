// SPDX-License-Identifier: Apache-2.0
// An element per thread; which share it is lies on the GPU.
#include "exec/cuda/kernel_launch.h"
#include "exec/tensor_parts.h"

namespace tessera {
namespace {

template <typename Word>
__global__ void take_shard_kernel(const Word* whole, const int32_t* index, Parts parts,
                                  Word* shard) {
  for (int64_t i = first_index(); i < parts.outer * parts.inner; i += index_stride())
    shard[i] =
        whole[i / parts.inner * parts.outer_stride + *index * parts.part_stride + i % parts.inner];
}

}  // namespace

void take_shard_cuda(const CudaCall& call) {
  const TensorType& whole = *call.operand(0).type;
  const auto dim = static_cast<size_t>(whole.index_of(call.attributes.word("dim")));
  const Parts parts = parts_along(whole, dim, call.attributes.integer("ranks"));
  const int32_t* index = call.operand(1).as<int32_t>();
  const auto take = [&]<typename Word>(Word) {
    launch(call, grid_for(parts.elements()), take_shard_kernel<Word>,
           reinterpret_cast<const Word*>(call.operand(0).data), index, parts,
           reinterpret_cast<Word*>(call.result(0).data));
  };
  switch (size_bytes(whole.dtype)) {
    case 2:
      return take(uint16_t{});
    case 4:
      return take(uint32_t{});
    default:
      return take(uint64_t{});
  }
}

}  // namespace tessera
