// SPDX-License-Identifier: Apache-2.0
// A task is one query position and one head of keys: its keys and values are read once, in the
// order of memory, for all queries of the group.
#define HWY_TARGET_INCLUDE "ops/attention/cached_attention_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/attention/rows_cpu.h"
#include "ops/embedding/index_check_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
Accumulator<T> dot(const Accumulator<T>* x, const T* y, int64_t n) {
  using S = Accumulator<T>;
  const int64_t whole = n / kLanes<S> * kLanes<S>;
  Lanes<S> sums(S{0});
  for (int64_t i = 0; i < whole; i += kLanes<S>) sums += load_lanes(x + i) * load_lanes(y + i);
  S sum = sum_lanes<S>(sums);
  for (int64_t i = whole; i < n; ++i) sum += x[i] * load(y[i]);
  return sum;
}

template <typename T>
void add_scaled(Accumulator<T>* y, Accumulator<T> factor, const T* x, int64_t n) {
  using S = Accumulator<T>;
  const int64_t whole = n / kLanes<S> * kLanes<S>;
  const Lanes<S> factors(factor);
  for (int64_t i = 0; i < whole; i += kLanes<S>)
    store_lanes(y + i, load_lanes(y + i) + factors * load_lanes(x + i));
  for (int64_t i = whole; i < n; ++i) y[i] += factor * load(x[i]);
}

// exp(score - max) in place, and their sum; `padded` is a multiple of kLanes.
template <typename S>
S exponentials(S* scores, int64_t n, int64_t padded) {
  const S max = *std::max_element(scores, scores + n);
  std::fill(scores + n, scores + padded, -std::numeric_limits<S>::infinity());
  Lanes<S> sums(S{0});
  for (int64_t i = 0; i < padded; i += kLanes<S>) {
    const Lanes<S> y = fast_exp<Lanes<S>>(load_lanes(scores + i) - max);
    store_lanes(scores + i, y);
    sums += y;
  }
  return sum_lanes<S>(sums);
}

template <typename T>
class CachedQuery {
 public:
  using S = Accumulator<T>;

  CachedQuery(const CpuCall& call, const AttentionSizes& s, int64_t cached, std::byte* scratch)
      : call_(call), s_(s), cached_(cached), l_(s, cached, sizeof(S)), scratch_(scratch) {}

  // `query` counts positions over all sequences, `head` heads of keys.
  void run(int64_t query, int64_t head, int64_t seen) const {
    const int64_t row = (query * s_.kv_heads + head) * s_.group;
    const int64_t first = (query / s_.seq * cached_ * s_.kv_heads + head);
    const T* keys = call_.operand(1).as<T>() + first * s_.e;
    const T* values = call_.operand(2).as<T>() + first * s_.value_e;
    S* queries = part(l_.query);
    const S scale = static_cast<S>(attention_scale(call_.attributes, s_.e));
    copy_scaled(call_.operand(0).as<T>() + row * s_.e, scale, queries, s_.group * s_.e);
    for (int64_t j = 0; j < seen; ++j)
      for (int64_t g = 0; g < s_.group; ++g)
        scores(g)[j] = dot(queries + g * s_.e, keys + j * s_.kv_heads * s_.e, s_.e);
    S* out = part(l_.out);
    std::fill_n(out, s_.group * s_.value_e, S{0});
    S* sums = part(l_.sums);
    for (int64_t g = 0; g < s_.group; ++g) sums[g] = exponentials(scores(g), seen, padded(seen));
    for (int64_t j = 0; j < seen; ++j)
      for (int64_t g = 0; g < s_.group; ++g)
        add_scaled(out + g * s_.value_e, scores(g)[j], values + j * s_.kv_heads * s_.value_e,
                   s_.value_e);
    for (int64_t g = 0; g < s_.group; ++g)
      store_scaled(out + g * s_.value_e, 1 / sums[g],
                   call_.result(0).as<T>() + (row + g) * s_.value_e, s_.value_e);
  }

 private:
  static int64_t padded(int64_t n) { return num_blocks(n, kLanes<S>) * kLanes<S>; }
  S* part(int64_t offset) const { return reinterpret_cast<S*>(scratch_ + offset); }
  S* scores(int64_t g) const { return part(l_.scores) + g * l_.score_stride; }

  const CpuCall& call_;
  const AttentionSizes& s_;
  int64_t cached_;
  CachedScratch l_;
  std::byte* scratch_;
};

template <typename T>
void attend(const CpuCall& call) {
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  const int64_t cached = call.operand(1).type->dims[1].size;
  const int64_t worker_bytes = CachedScratch(s, cached, sizeof(Accumulator<T>)).bytes;
  const int32_t* positions = checked_index(call.operand(3), cached);
  call.threads.run(s.batch * s.seq * s.kv_heads, [&](int64_t task, int worker) {
    const int64_t query = task / s.kv_heads;
    CachedQuery<T>(call, s, cached, call.workspace.data() + worker * worker_bytes)
        .run(query, task % s.kv_heads, positions[query] + 1);
  });
}

}  // namespace

void cached_attention_cpu(const CpuCall& call) {
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() { attend<T>(call); });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(cached_attention_cpu)
}  // namespace tessera
#endif
