// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "exec/cuda/first_values.h"
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

constexpr int64_t kPart = int64_t{1} << 26;             // elements made at a time
constexpr unsigned kMostUnsettled = unsigned{1} << 20;  // of a part

struct Unsettled {
  unsigned count;
  uint32_t elements[kMostUnsettled];  // of the part, in any order
};

// RandomStream::normal, by the GPU's logarithm and cosine.
__device__ inline double normal_of(uint64_t random) {
  const double u = (static_cast<double>(random >> 32) + 1.0) * 0x1.0p-32;
  const double v = static_cast<double>(random & 0xffffffffu) * 0x1.0p-32;
  return sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979323846 * v);
}

template <typename T>
__device__ inline bool same(T a, T b) {
  if constexpr (std::is_same_v<T, Bf16>)
    return a.bits == b.bits;
  else
    return a == b;
}

template <typename T>
__global__ void normal_kernel(RandomStream stream, double deviation, double margin, T* to,
                              int64_t first, int64_t count, Unsettled* unsettled) {
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    const double value = deviation * normal_of(stream.bits(static_cast<uint64_t>(first + i)));
    const auto rounded = [](double x) { return narrow<T>(static_cast<Accumulator<T>>(x)); };
    to[i] = rounded(value);
    if (same(rounded(value * (1 - margin)), rounded(value * (1 + margin)))) continue;
    const unsigned place = atomicAdd(&unsettled->count, 1u);
    if (place < kMostUnsettled) unsettled->elements[place] = static_cast<uint32_t>(i);
  }
}

template <typename T>
__global__ void ones_kernel(T* to, int64_t count) {
  for (int64_t i = first_index(); i < count; i += index_stride())
    to[i] = narrow<T>(Accumulator<T>{1});
}

void copy(void* to, const void* from, size_t bytes, const DeviceStream& stream) {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()),
             "copy first values");
  stream.wait();
}

// Returns the elements that the host has to make.
template <typename T>
std::vector<uint32_t> make_part(const RandomStream& random, double deviation, double margin, T* to,
                                int64_t first, int64_t count, const DeviceMemory& unsettled,
                                const DeviceStream& stream) {
  auto* list = reinterpret_cast<Unsettled*>(unsettled.data());
  check_cuda(cudaMemsetAsync(list, 0, sizeof(unsigned), stream.get()), "clear a count");
  const Grid grid = grid_for(count);
  normal_kernel<T><<<grid.blocks, grid.threads, 0, stream.get()>>>(random, deviation, margin, to,
                                                                   first, count, list);
  check_cuda(cudaGetLastError(), "make first values");
  unsigned number = 0;
  copy(&number, &list->count, sizeof number, stream);
  TESSERA_CHECK(number <= kMostUnsettled, "{} of {} elements are unsettled", number, count);
  std::vector<uint32_t> elements(number);
  if (number > 0) copy(elements.data(), list->elements, number * sizeof(uint32_t), stream);
  return elements;
}

}  // namespace

int64_t FirstValues::write(DType dtype, std::byte* to, int64_t first, int64_t count,
                           const DeviceStream& stream) const {
  TESSERA_CHECK(can_make(dtype), "{} on a GPU", name(dtype));
  int64_t made_on_host = 0;
  dispatch_float(dtype, [&]<typename T>() {
    T* values = reinterpret_cast<T*>(to);
    if (init_.kind == Init::Kind::Normal) {
      const DeviceMemory unsettled(sizeof(Unsettled));
      for (int64_t at = 0; at < count; at += kPart) {
        const auto elements =
            make_part<T>(stream_, init_.deviation, margin_, values + at, first + at,
                         std::min(kPart, count - at), unsettled, stream);
        for (const uint32_t i : elements) {
          const auto index = static_cast<uint64_t>(first + at + i);
          const T value =
              store<T>(static_cast<Accumulator<T>>(init_.deviation * stream_.normal(index)));
          copy(values + at + i, &value, sizeof value, stream);
        }
        made_on_host += std::ssize(elements);
      }
    } else if (init_.kind == Init::Kind::Ones) {
      const Grid grid = grid_for(count);
      ones_kernel<T><<<grid.blocks, grid.threads, 0, stream.get()>>>(values, count);
      check_cuda(cudaGetLastError(), "make first values");
    } else {
      check_cuda(cudaMemsetAsync(to, 0, static_cast<size_t>(count) * sizeof(T), stream.get()),
                 "clear a state");
    }
  });
  stream.wait();
  return made_on_host;
}

}  // namespace tessera
