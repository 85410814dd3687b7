// SPDX-License-Identifier: Apache-2.0
// Shared by the losses of an output projection: the rows of x are processed in chunks, and the
// workspace holds the logits of one chunk at a time.
#pragma once

#include "ops/matmul/gemm_blocking.h"
#include "ops/type_rules.h"

namespace tessera {

struct OutputLossSizes {
  // As many rows as fit, because a pass over the table costs the same for any number of them.
  static constexpr int64_t kLogitsBytes = 64 << 20, kMinRows = 64;
  int64_t rows, vocab, width;
  int64_t chunk_rows;
  int64_t losses, logits, gemm;  // offsets into the workspace, in bytes
  int64_t element_bytes;         // of a logit

  OutputLossSizes(const TensorType& x, const TensorType& table)
      : rows(x.dims[0].size * x.dims[1].size),
        vocab(table.dims[0].size),
        width(table.dims[1].size),
        element_bytes(size_bytes(accumulator_of(x.dtype))) {
    const int64_t most = std::max(kMinRows, kLogitsBytes / (vocab * element_bytes));
    const int64_t even = num_blocks(rows, num_blocks(rows, most));
    chunk_rows = std::min(rows, num_blocks(even, kStripRows) * kStripRows);
    losses = 0;
    logits = num_blocks(rows * size_bytes(DType::Fp64), 64) * 64;
    gemm = logits + num_blocks(chunk_rows * vocab * element_bytes, 64) * 64;
  }

  // The last chunk may be shorter, and a matmul of fewer rows may need more workspace: its blocks
  // are wider.
  int64_t workspace_bytes(int threads) const {
    const int64_t last_rows = rows - (num_blocks(rows, chunk_rows) - 1) * chunk_rows;
    return gemm + std::max(gemm_bytes(chunk_rows, threads), gemm_bytes(last_rows, threads));
  }

 private:
  // The largest of the products: logits, dx, dtable.
  int64_t gemm_bytes(int64_t chunk, int threads) const {
    return std::max({gemm_workspace_bytes(chunk, vocab, width, element_bytes, threads),
                     gemm_workspace_bytes(chunk, width, vocab, element_bytes, threads),
                     gemm_workspace_bytes(vocab, width, chunk, element_bytes, threads)});
  }
};

inline void require_logit_operands(const OpCall& call) {
  require_float(call, 0);
  const TensorType &x = call.operand(0), &table = call.operand(1);
  call.require(x.dims.size() == 3, "x must be [batch, seq, d], is {}", to_string(x));
  call.require(table.dims.size() == 2 && table.dtype == x.dtype && table.dims[1] == x.dims[2],
               "table must be {}[vocab, {}={}], is {}", name(x.dtype), x.dims[2].name,
               x.dims[2].size, to_string(table));
  require_type(call, 2, {DType::Int32, {x.dims[0], x.dims[1]}});
}

inline void require_output_loss_operands(const OpCall& call) {
  require_logit_operands(call);
  require_type(call, 3, scalar(DType::Fp64));
}

// In the dtype that the table's gradient is kept in.
inline TensorType dtable_type(const OpCall& call) {
  const TensorType& table = call.operand(1);
  const DType dtype = dtype_attribute(call, "dtype", 1);
  call.require(dtype == table.dtype || dtype == accumulator_of(table.dtype),
               "dtype = {} cannot be computed from {}: use same or {}", name(dtype),
               name(table.dtype), name(accumulator_of(table.dtype)));
  return with_dtype(table, dtype);
}

// The loss, dx and, where the table is trained, dtable.
inline std::vector<TensorType> output_gradient_types(const OpCall& call) {
  const std::vector<TensorType> all{scalar(DType::Fp64), call.operand(0), dtable_type(call)};
  return {all.begin(), all.end() - (call.attributes.integer("with_dtable") == 0)};
}

// Per logit and element of x: two for each product.
inline int64_t flops_of_output_gradients(const OpCall& call) {
  return call.attributes.integer("with_dtable") != 0 ? 6 : 4;
}

inline int64_t output_loss_workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  return OutputLossSizes(call.operand(0), call.operand(1)).workspace_bytes(profile.threads);
}

}  // namespace tessera
