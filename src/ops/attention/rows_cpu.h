// SPDX-License-Identifier: Apache-2.0
// Operations on rows for the kernels of attention and its gradient: copy, mask, split off a
// worker's part.
#if defined(TESSERA_OPS_ATTENTION_ROWS_CPU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_OPS_ATTENTION_ROWS_CPU_H
#undef TESSERA_OPS_ATTENTION_ROWS_CPU_H
#else
#define TESSERA_OPS_ATTENTION_ROWS_CPU_H
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/fast_math.h"
#include "exec/cpu/gemm_kernels.h"
#include "ops/attention/attention.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// Which keys a query sees: those of its document at the same or an earlier position. Ranges are
// checked first, so that whole panels are skipped or left unmasked.
// The extremes over a range of queries or keys.
struct PositionSpan {
  int32_t first_position, last_position, first_document, last_document;
};

enum class Sight : uint8_t { Hidden, Partial, Visible };

inline Sight sight(const PositionSpan& queries, const PositionSpan& keys) {
  if (keys.first_position > queries.last_position || keys.first_document > queries.last_document ||
      keys.last_document < queries.first_document)
    return Sight::Hidden;
  const bool one_document =
      queries.first_document == keys.last_document && keys.first_document == queries.last_document;
  return one_document && keys.last_position <= queries.first_position ? Sight::Visible
                                                                      : Sight::Partial;
}

// One sequence of the batch.
struct SequencePlaces {
  const int32_t* positions;
  const int32_t* documents;

  PositionSpan span(int64_t begin, int64_t end) const {
    PositionSpan s{positions[begin], positions[begin], documents[begin], documents[begin]};
    for (int64_t i = begin + 1; i < end; ++i) {
      s.first_position = std::min(s.first_position, positions[i]);
      s.last_position = std::max(s.last_position, positions[i]);
      s.first_document = std::min(s.first_document, documents[i]);
      s.last_document = std::max(s.last_document, documents[i]);
    }
    return s;
  }
};

// A range of keys; `end` is one past the last.
struct KeyRange {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

// The panels between the first and the last that are not hidden, out of [first, last).
inline KeyRange seen_panels(const PositionSpan& queries, const PositionSpan* spans, int64_t first,
                            int64_t last) {
  while (first < last && sight(queries, spans[first]) == Sight::Hidden) ++first;
  while (first < last && sight(queries, spans[last - 1]) == Sight::Hidden) --last;
  return {first, last};
}

// Keys at either end that no query of the span can see are left out.
inline KeyRange trimmed(const SequencePlaces& placement, const PositionSpan& queries,
                        KeyRange keys) {
  const auto hidden = [&](int64_t key) {
    return placement.positions[key] > queries.last_position ||
           placement.documents[key] < queries.first_document ||
           placement.documents[key] > queries.last_document;
  };
  while (!keys.empty() && hidden(keys.end - 1)) --keys.end;
  while (!keys.empty() && hidden(keys.begin)) ++keys.begin;
  return keys;
}

// The rows (query, group) of one head of keys, in a tensor [batch, seq, kv_heads, group, e], where
// e is that of queries or that of values.
template <typename T>
struct HeadRows {
  T* data;  // of the sequence and the head
  int64_t group, e, query_stride;

  HeadRows(T* tensor, const AttentionSizes& s, int64_t head_size, int64_t batch, int64_t head)
      : data(tensor + (batch * s.seq * s.kv_heads + head) * s.group * head_size),
        group(s.group),
        e(head_size),
        query_stride(s.kv_heads * s.group * head_size) {}
  T* row(int64_t r) const { return data + r / group * query_stride + r % group * e; }
};

// Rows are far apart in memory, where the hardware does not prefetch; so they are prefetched here,
// for reading or writing.
enum class Use : int { Read = 0, Write = 1 };
inline constexpr int64_t kRowsAhead = 8;

template <Use use, typename T>
TESSERA_INLINE void prefetch_row(const T* row, int64_t e) {
  for (int64_t i = 0; i < e; i += 64 / sizeof(T))
    __builtin_prefetch(row + i, static_cast<int>(use));
}
template <Use use, typename T>
void prefetch_rows(const HeadRows<T>& rows, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) prefetch_row<use>(rows.row(r), rows.e);
}
template <typename T>
void prefetch_keys(const T* first, int64_t stride, int64_t count, int64_t e) {
  for (int64_t i = 0; i < count; ++i) prefetch_row<Use::Read>(first + i * stride, e);
}

template <typename S>
S* at(std::byte* scratch, int64_t offset) {
  return reinterpret_cast<S*>(scratch + offset);
}

template <typename T>
void copy_scaled(const T* from, Accumulator<T> scale, Accumulator<T>* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = load(from[i]) * scale;
}

template <typename T>
void store_scaled(const Accumulator<T>* from, Accumulator<T> scale, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = store<T>(from[i] * scale);
}

// Scores of keys that the query does not see become minus infinity.
template <typename S>
void mask_row(S* scores, const int32_t* positions, const int32_t* documents, int32_t position,
              int32_t document, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    scores[i] = ((positions[i] <= position) & (documents[i] == document))
                    ? scores[i]
                    : -std::numeric_limits<S>::infinity();
}

// The positions of the queries and the keys of one sequence; `positions` is the operand of that
// name, and the others follow it.
struct Placements {
  SequencePlaces queries, keys;

  Placements(const CpuCall& call, size_t positions, int64_t batch, int64_t seq)
      : queries(placement(call, positions, batch * seq)),
        keys(call.operand(positions + 2) ? placement(call, positions + 2, batch * seq) : queries) {}

 private:
  static SequencePlaces placement(const CpuCall& call, size_t positions, int64_t first) {
    return {call.operand(positions).as<int32_t>() + first,
            call.operand(positions + 1).as<int32_t>() + first};
  }
};

// Masks the panel of scores at `scores`, whose first key is `key`, for one query; keys beyond the
// sequence are hidden too.
template <typename S>
void mask_panel(S* scores, const Placements& place, int64_t query, int64_t key, int64_t seq) {
  constexpr int64_t kPanel = kPanelColumns<S>;
  const int64_t count = std::clamp<int64_t>(seq - key, 0, kPanel);
  mask_row(scores, place.keys.positions + key, place.keys.documents + key,
           place.queries.positions[query], place.queries.documents[query], count);
  std::fill(scores + count, scores + kPanel, -std::numeric_limits<S>::infinity());
}

inline void fill_spans(const SequencePlaces& keys, int64_t seq, int64_t panel,
                       PositionSpan* spans) {
  for (int64_t key = 0; key < seq; key += panel)
    spans[key / panel] = keys.span(key, std::min(key + panel, seq));
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
