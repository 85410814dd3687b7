// SPDX-License-Identifier: Apache-2.0
// Which keys a query sees: those of its document at the same or an earlier position. Ranges are
// checked first, so that whole panels are skipped or left unmasked.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tessera {

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

}  // namespace tessera
