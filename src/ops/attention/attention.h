// SPDX-License-Identifier: Apache-2.0
// Shared by attention and its gradient: sizes, type rules, and the layout of a worker's workspace.
// Letters: t queries or keys, r rows = (query, group) pairs of one head of keys, e size of a head
// of queries and keys, value_e of one of values and results.
#pragma once

#include <cmath>

#include "ops/matmul/gemm_blocking.h"
#include "ops/type_rules.h"

namespace tessera {

struct AttentionSizes {
  int64_t batch, seq, kv_heads, group, e, value_e;

  AttentionSizes(const TensorType& q, const TensorType& v)
      : batch(q.dims[0].size),
        seq(q.dims[1].size),
        kv_heads(q.dims[2].size),
        group(q.dims[3].size),
        e(q.dims[4].size),
        value_e(v.dims[3].size) {}
  int64_t rows() const { return seq * group; }
  // Pairs that a causal mask over one document leaves.
  int64_t causal_pairs() const { return batch * kv_heads * group * (seq * (seq + 1) / 2); }
};

inline double attention_scale(const Attributes& attributes, int64_t e) {
  const double scale = attributes.real("scale");
  return scale == 0.0 ? 1.0 / std::sqrt(static_cast<double>(e)) : scale;
}

// q, k, v as operands 0, 1, 2; `positions`, then document, then key_positions and key_document if
// the keys are not those of the queries.
void require_attention_operands(const OpCall& call, size_t positions);
TensorType lse_type(const TensorType& q);  // or of o
// Of queries or results whose heads have v's size.
TensorType attention_result_type(const TensorType& q, const TensorType& v);

// Offsets into a worker's part, in bytes; each piece begins on a cache line.
class WorkspaceLayout {
 public:
  int64_t take(int64_t bytes) {
    const int64_t offset = bytes_;
    bytes_ += num_blocks(bytes, 64) * 64;
    return offset;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

inline constexpr int64_t kSpanBytes = 16;  // of positions and documents, per panel of keys

struct AttentionScratch {
  int64_t panel, panels;  // keys per panel, panels per sequence
  int64_t spans, keys, values, query, scores, out, bytes;

  AttentionScratch(const AttentionSizes& s, int64_t element_bytes)
      : panel(kPanelBytes / element_bytes), panels(num_blocks(s.seq, panel)) {
    WorkspaceLayout layout;
    spans = layout.take(panels * kSpanBytes);
    keys = layout.take(panels * panel * s.e * element_bytes);
    values = layout.take(num_blocks(s.value_e, panel) * panel * s.seq * element_bytes);
    query = layout.take(kStripRows * s.e * element_bytes);
    scores = layout.take(kStripRows * panels * panel * element_bytes);
    out = layout.take(kStripRows * s.value_e * element_bytes);
    bytes = layout.bytes();
  }
};

// One query position against the cached keys of one head.
struct CachedScratch {
  int64_t score_stride;  // elements of one query's scores
  int64_t query, scores, sums, out, bytes;

  CachedScratch(const AttentionSizes& s, int64_t cached, int64_t element_bytes)
      : score_stride(num_blocks(cached * element_bytes, 64) * 64 / element_bytes) {
    WorkspaceLayout layout;
    query = layout.take(s.group * s.e * element_bytes);
    scores = layout.take(s.group * score_stride * element_bytes);
    sums = layout.take(s.group * element_bytes);
    out = layout.take(s.group * s.value_e * element_bytes);
    bytes = layout.bytes();
  }
};

// The backward goes over blocks of keys and, for each, over blocks of rows.
struct AttentionGradScratch {
  static constexpr int64_t kBlockPanels = 4, kBlockRows = 20 * kStripRows;
  int64_t panel, panels, block_keys, block_rows;
  int64_t score_stride;  // padded, so that a column does not fall into few cache sets
  int64_t spans, delta, dquery, keys_transposed, values_transposed, keys, dkeys, dvalues;
  int64_t query, dout, query_panels, dout_panels, scores, dscores, bytes;

  AttentionGradScratch(const AttentionSizes& s, int64_t element_bytes)
      : panel(kPanelBytes / element_bytes), panels(num_blocks(s.seq, panel)) {
    const int64_t padded_e = num_blocks(s.e, panel) * panel;
    const int64_t padded_value_e = num_blocks(s.value_e, panel) * panel;
    block_keys = std::min(panels, kBlockPanels) * panel;
    const int64_t blocks = num_blocks(s.rows(), kBlockRows);
    block_rows = num_blocks(num_blocks(s.rows(), blocks), kStripRows) * kStripRows;
    score_stride = block_keys + 64 / element_bytes;
    WorkspaceLayout layout;
    const auto take = [&](int64_t elements) { return layout.take(elements * element_bytes); };
    spans = layout.take(panels * kSpanBytes);
    delta = take(s.rows());
    dquery = take(s.rows() * s.e);
    keys_transposed = take(block_keys * s.e);
    values_transposed = take(block_keys * s.value_e);
    keys = take(block_keys * padded_e);
    dkeys = take(block_keys * s.e);
    dvalues = take(block_keys * s.value_e);
    query = take(block_rows * s.e);
    dout = take(block_rows * s.value_e);
    query_panels = take(block_rows * padded_e);
    dout_panels = take(block_rows * padded_value_e);
    scores = take(block_rows * score_stride);
    dscores = take(block_rows * score_stride);
    bytes = layout.bytes();
  }
};

}  // namespace tessera
