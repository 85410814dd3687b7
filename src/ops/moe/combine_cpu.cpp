// SPDX-License-Identifier: Apache-2.0
// By token: its rows are gathered and added in order of k, so nothing is added to memory that
// others write.
#define HWY_TARGET_INCLUDE "ops/moe/combine_cpu.cpp"
#include <algorithm>

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "ops/moe/pool.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
void combine_token(const T* y, const int32_t* places, int64_t top_k, int64_t cols, T* out) {
  using A = Accumulator<T>;
  constexpr int64_t kBlock = 256;
  A sums[kBlock];
  for (int64_t first = 0; first < cols; first += kBlock) {
    const int64_t count = std::min(kBlock, cols - first);
    bool empty = true;
    for (int64_t k = 0; k < top_k; ++k) {
      if (places[k] < 0) continue;
      const T* row = y + places[k] * cols + first;
      if (empty)
        for (int64_t c = 0; c < count; ++c) sums[c] = load(row[c]);
      else
        for (int64_t c = 0; c < count; ++c) sums[c] += load(row[c]);
      empty = false;
    }
    if (empty) std::fill_n(sums, count, A{0});
    for (int64_t c = 0; c < count; ++c) out[first + c] = store<T>(sums[c]);
  }
}

template <typename A>
void gather_gates(const A* gate_rows, const int32_t* places, int64_t count, A* gates) {
  for (int64_t i = 0; i < count; ++i) gates[i] = places[i] < 0 ? A{0} : gate_rows[places[i]];
}

}  // namespace

void combine_cpu(const CpuCall& call) {
  const TensorRef y = call.operand(0), place = call.operand(2), gate_rows = call.operand(4);
  const int64_t top_k = place.type->dims.back().size, tokens = place.type->num_elements() / top_k,
                cols = row_size(*y.type);
  const int32_t* places = place.as<int32_t>();
  dispatch_float(y.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const T* rows = y.as<T>();
    T* out = call.result(0).as<T>();
    run_rows(call.threads, tokens, top_k * cols, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        combine_token(rows, places + t * top_k, top_k, cols, out + t * cols);
      if (gate_rows)
        gather_gates(gate_rows.as<A>(), places + begin * top_k, (end - begin) * top_k,
                     call.result(1).as<A>() + begin * top_k);
    });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(combine_cpu)
}  // namespace tessera
#endif
