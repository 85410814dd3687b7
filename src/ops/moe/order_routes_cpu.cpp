// SPDX-License-Identifier: Apache-2.0
// A counting sort in two passes over chunks of choices. Chunks are counted apart, so that each
// knows where its own choices of an expert begin.
#include <algorithm>

#include "exec/cpu/cpu_call.h"
#include "ops/moe/pool.h"
#include "ops/row_ranges.h"

namespace tessera {
namespace {

struct Routes {
  const int32_t* chosen;
  int64_t first, experts, rows;  // the experts of the pool, and its rows
  int32_t *place, *source;

  int64_t expert(int64_t i) const { return chosen[i] - first; }  // in the pool
  bool has(int64_t i) const { return expert(i) >= 0 && expert(i) < experts; }
};

void count(const Routes& r, int64_t begin, int64_t end, int32_t* counts) {
  std::fill_n(counts, r.experts, 0);
  for (int64_t i = begin; i < end; ++i)
    if (r.has(i)) ++counts[r.expert(i)];
}

// Turns counts into the row at which each chunk's choices of each expert begin. `needed`: null
// where nobody asks.
void set_ends(const Routes& r, int64_t chunks, int32_t* counts, int32_t* ends, int32_t* needed) {
  int32_t next = 0;
  for (int64_t e = 0; e < r.experts; ++e) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      next += std::exchange(counts[chunk * r.experts + e], next);
    ends[e] = static_cast<int32_t>(std::min<int64_t>(next, r.rows));
    if (needed) needed[e] = next;
  }
}

void place(const Routes& r, int64_t begin, int64_t end, int32_t* next) {
  for (int64_t i = begin; i < end; ++i) {
    const int32_t row = r.has(i) ? next[r.expert(i)]++ : -1;
    r.place[i] = row < r.rows ? row : -1;
    if (r.place[i] >= 0) r.source[row] = static_cast<int32_t>(i);
  }
}

}  // namespace

void order_routes_cpu(const CpuCall& call) {
  const TensorRef chosen = call.operand(0), ends = call.result(2), needed = call.result(3);
  const int64_t experts = call.attributes.integer("experts");
  const Routes r{.chosen = chosen.as<int32_t>(),
                 .first = call.operand(1) ? *call.operand(1).as<int32_t>() * experts : 0,
                 .experts = experts,
                 .rows = pool_rows(*call.result(1).type),
                 .place = call.result(0).as<int32_t>(),
                 .source = call.result(1).as<int32_t>()};
  const RowChunks chunks(chosen.type->num_elements());
  int32_t* counts = reinterpret_cast<int32_t*>(call.workspace.data());
  call.threads.run(chunks.count(), [&](int64_t chunk, int) {
    count(r, chunks.begin(chunk), chunks.end(chunk), counts + chunk * r.experts);
  });
  set_ends(r, chunks.count(), counts, ends.as<int32_t>(), needed ? needed.as<int32_t>() : nullptr);
  call.threads.run(chunks.count(), [&](int64_t chunk, int) {
    place(r, chunks.begin(chunk), chunks.end(chunk), counts + chunk * r.experts);
  });
  const int64_t used = ends.as<int32_t>()[r.experts - 1];
  std::fill(r.source + used, r.source + r.rows, -1);
}

}  // namespace tessera
