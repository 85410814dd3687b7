// SPDX-License-Identifier: Apache-2.0
#include "comm/reduce_parts.h"

#include <cstring>

namespace tessera {
namespace {

// A piece of sums stays in the first-level cache while the sources stream past it.
constexpr int64_t kPieceBytes = 8192;

template <typename A>
void combine(Reduction reduction, A* __restrict sums, const A* __restrict values, int64_t count) {
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Mean:
      for (int64_t i = 0; i < count; ++i) sums[i] += values[i];
      break;
    case Reduction::Min:
      for (int64_t i = 0; i < count; ++i)
        sums[i] = (values[i] < sums[i]) | (values[i] != values[i]) ? values[i] : sums[i];
      break;
    case Reduction::Max:
      for (int64_t i = 0; i < count; ++i)
        sums[i] = (values[i] > sums[i]) | (values[i] != values[i]) ? values[i] : sums[i];
      break;
  }
}

// One piece of a run: `at` says where its elements are in a source or target.
template <typename T, typename At>
void reduce_piece(Reduction reduction, std::span<const Source> sources,
                  std::span<const Target> targets, int64_t count, const At& at) {
  using A = Accumulator<T>;
  alignas(64) A sums[kPieceBytes / sizeof(A)];
  for (size_t s = 0; s < sources.size(); ++s) {
    const T* values = reinterpret_cast<const T*>(sources[s].data) + at(sources[s].layout);
    if constexpr (std::is_same_v<T, A>) {
      if (s == 0)
        std::memcpy(sums, values, static_cast<size_t>(count) * sizeof(A));
      else
        combine(reduction, sums, values, count);
    } else {
      alignas(64) A widened[kPieceBytes / sizeof(A)];
      A* wide = s == 0 ? sums : widened;
      for (int64_t i = 0; i < count; ++i) wide[i] = load(values[i]);
      if (s > 0) combine<A>(reduction, sums, widened, count);
    }
  }
  if (reduction == Reduction::Mean) {
    const A divisor = static_cast<A>(sources.size());
    for (int64_t i = 0; i < count; ++i) sums[i] /= divisor;
  }
  const auto write = [&](const T* results) {
    for (const Target& target : targets)
      std::memcpy(reinterpret_cast<T*>(target.data) + at(target.layout), results,
                  static_cast<size_t>(count) * sizeof(T));
  };
  if constexpr (std::is_same_v<T, A>) {
    write(sums);
  } else {
    alignas(64) T rounded[kPieceBytes / sizeof(A)];
    for (int64_t i = 0; i < count; ++i) rounded[i] = to_bf16(sums[i]);
    write(rounded);
  }
}

template <typename T>
void reduce_typed(Reduction reduction, std::span<const Source> sources,
                  std::span<const Target> targets, int64_t begin, int64_t end) {
  constexpr int64_t kPiece = kPieceBytes / sizeof(Accumulator<T>);
  while (begin < end) {
    int64_t count = std::min(kPiece, end - begin);
    for (const Source& source : sources) count = std::min(count, source.layout.run_at(begin).count);
    for (const Target& target : targets) count = std::min(count, target.layout.run_at(begin).count);
    reduce_piece<T>(reduction, sources, targets, count,
                    [begin](const PartLayout& layout) { return layout.run_at(begin).offset; });
    begin += count;
  }
}

}  // namespace

void reduce_parts(DType dtype, Reduction reduction, std::span<const Source> sources,
                  std::span<const Target> targets, int64_t begin, int64_t end) {
  switch (dtype) {
    case DType::Fp64:
      return reduce_typed<double>(reduction, sources, targets, begin, end);
    case DType::Fp32:
      return reduce_typed<float>(reduction, sources, targets, begin, end);
    case DType::Bf16:
      return reduce_typed<Bf16>(reduction, sources, targets, begin, end);
    case DType::Int32:
      return reduce_typed<int32_t>(reduction, sources, targets, begin, end);
    case DType::E4m3:
    case DType::E5m2:
      break;
  }
  check_failed("no sum of bytes", __FILE__, __LINE__, std::string(name(dtype)));
}

}  // namespace tessera
