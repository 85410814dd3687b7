// SPDX-License-Identifier: Apache-2.0
// One element per thread, which reads all sources before it writes any target.
#include <algorithm>

#include "core/error.h"
#include "exec/cuda/kernel_launch.h"
#include "exec/cuda/part_moves.h"

namespace tessera {
namespace {

struct Copies {
  PartCopy all[kMostSharers];
};
struct Ends {
  DevicePart sources[kMostSharers], targets[kMostSharers];
  int num_sources, num_targets;
};

template <typename T>
__device__ T* element(const DevicePart& part, int64_t i) {
  const Parts& p = part.parts;
  const int64_t row = i / p.inner, outer = row / p.middle, middle = row % p.middle;
  return reinterpret_cast<T*>(part.data) + outer * p.outer_stride + middle * p.middle_stride +
         part.part * p.part_stride + i % p.inner;
}

template <typename Word>
__global__ void copy_kernel(const __grid_constant__ Copies copies, int64_t elements) {
  const PartCopy& copy = copies.all[blockIdx.y];
  for (int64_t i = first_index(); i < elements; i += index_stride())
    *element<Word>(copy.to, i) = *element<Word>(copy.from, i);
}

template <typename A>
__device__ A combined(Reduction reduction, A a, A b) {
  if (reduction == Reduction::Min) return b < a || b != b ? b : a;
  if (reduction == Reduction::Max) return b > a || b != b ? b : a;
  return a + b;
}

template <typename T>
__device__ Accumulator<T> value_of(const DevicePart& part, int64_t i) {
  if constexpr (std::is_same_v<T, Bf16>)
    return widen(*element<T>(part, i));
  else
    return *element<T>(part, i);
}

template <typename T>
__global__ void reduce_kernel(const __grid_constant__ Ends ends, Reduction reduction,
                              int64_t elements) {
  using A = Accumulator<T>;
  for (int64_t i = first_index(); i < elements; i += index_stride()) {
    A value = value_of<T>(ends.sources[0], i);
    for (int s = 1; s < ends.num_sources; ++s)
      value = combined(reduction, value, value_of<T>(ends.sources[s], i));
    if (reduction == Reduction::Mean) value /= static_cast<A>(ends.num_sources);
    const T result = narrow<T>(value);
    for (int t = 0; t < ends.num_targets; ++t) *element<T>(ends.targets[t], i) = result;
  }
}

template <typename Word>
void copy_words(const Copies& copies, size_t count, int64_t elements, const DeviceStream& stream) {
  Grid grid = grid_for(elements);
  grid.blocks.y = static_cast<unsigned>(count);
  copy_kernel<Word><<<grid.blocks, grid.threads, 0, stream.get()>>>(copies, elements);
}

template <typename T>
void reduce_typed(const Ends& ends, Reduction reduction, int64_t elements,
                  const DeviceStream& stream) {
  const Grid grid = grid_for(elements);
  reduce_kernel<T><<<grid.blocks, grid.threads, 0, stream.get()>>>(ends, reduction, elements);
}

}  // namespace

void enqueue_copies(DType dtype, std::span<const PartCopy> all, const DeviceStream& stream) {
  for (size_t first = 0; first < all.size(); first += kMostSharers) {
    const auto some = all.subspan(first, std::min<size_t>(kMostSharers, all.size() - first));
    const int64_t elements = some[0].to.parts.elements();
    if (elements == 0) return;
    Copies copies{};
    std::ranges::copy(some, copies.all);
    if (size_bytes(dtype) == 2)
      copy_words<uint16_t>(copies, some.size(), elements, stream);
    else if (size_bytes(dtype) == 4)
      copy_words<uint32_t>(copies, some.size(), elements, stream);
    else
      copy_words<uint64_t>(copies, some.size(), elements, stream);
    check_cuda(cudaGetLastError(), "copy parts between ranks");
  }
}

void enqueue_reduction(DType dtype, Reduction reduction, std::span<const DevicePart> sources,
                       std::span<const DevicePart> targets, const DeviceStream& stream) {
  TESSERA_CHECK(sources.size() <= kMostSharers && targets.size() <= kMostSharers,
                "{} sources, {} targets", sources.size(), targets.size());
  const int64_t elements = targets[0].parts.elements();
  if (elements == 0) return;
  Ends ends{};
  std::ranges::copy(sources, ends.sources);
  std::ranges::copy(targets, ends.targets);
  ends.num_sources = static_cast<int>(sources.size());
  ends.num_targets = static_cast<int>(targets.size());
  switch (dtype) {
    case DType::Fp64:
      reduce_typed<double>(ends, reduction, elements, stream);
      break;
    case DType::Fp32:
      reduce_typed<float>(ends, reduction, elements, stream);
      break;
    case DType::Bf16:
      reduce_typed<Bf16>(ends, reduction, elements, stream);
      break;
    case DType::Int32:
      reduce_typed<int32_t>(ends, reduction, elements, stream);
      break;
    case DType::E4m3:
    case DType::E5m2:
      check_failed("no sum of bytes", __FILE__, __LINE__, std::string(name(dtype)));
  }
  check_cuda(cudaGetLastError(), "combine parts of ranks");
}

}  // namespace tessera
