// SPDX-License-Identifier: Apache-2.0
// A graph of operations for cuDNN to run as few kernels, and the plan that it makes of one. Tensors
// have four dims: batch, heads, rows, columns; those between operations never reach memory.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "exec/cuda/cudnn_library.h"

namespace tessera {

using GraphDims = std::array<int64_t, 4>;

struct GraphTensor {
  int64_t id;  // its number, from 1 on
  GraphDims dims;
};

// Enqueues the graph's kernels; made once, used with any addresses.
class OperationPlan {
 public:
  int64_t workspace_bytes() const { return workspace_bytes_; }
  // `buffers`: addresses, in the order in which the graph was given buffers.
  void enqueue(std::span<void* const> buffers, void* workspace, cudaStream_t stream);

 private:
  friend class OperationGraph;
  OperationPlan(const Cudnn& cudnn, CudnnDescriptor plan)
      : cudnn_(&cudnn), plan_(std::move(plan)) {}

  const Cudnn* cudnn_;
  CudnnDescriptor plan_;
  std::vector<int64_t> ids_;  // of buffers, then of scalars
  std::vector<float> scalars_;
  int64_t workspace_bytes_ = 0;
};

class OperationGraph {
 public:
  explicit OperationGraph(const Cudnn& cudnn) : cudnn_(cudnn) {}

  // In memory, or a number.
  GraphTensor buffer(cudnnDataType_t type, const GraphDims& dims, const GraphDims& strides);
  GraphTensor scalar(float value);
  // Between operations.
  GraphTensor inner(cudnnDataType_t type, const GraphDims& dims, const GraphDims& strides);
  GraphTensor inner(cudnnDataType_t type, const GraphDims& dims);

  void matmul(const GraphTensor& a, const GraphTensor& b, const GraphTensor& c);
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<GraphTensor> operands,
                 const GraphTensor& result, cudnnDataType_t compute = CUDNN_DATA_FLOAT,
                 int64_t axis = -1);
  void reduce(cudnnReduceTensorOp_t op, const GraphTensor& x, const GraphTensor& y);
  void view(const GraphTensor& x, const GraphTensor& y);

  // The same, into a new inner tensor of fp32 and the first operand's dims.
  GraphTensor pointwise(cudnnPointwiseMode_t mode, std::initializer_list<GraphTensor> operands);
  // Where the column is no later than the row, scores; -inf elsewhere.
  GraphTensor causal(const GraphTensor& scores);

  // The first that cuDNN offers. A CudaError where it offers none.
  OperationPlan plan() const;

 private:
  GraphTensor add(cudnnDataType_t type, const GraphDims& dims, const GraphDims& strides,
                  bool is_virtual, bool by_value);
  const CudnnDescriptor& of(const GraphTensor& tensor) const {
    return tensors_[static_cast<size_t>(tensor.id - 1)];
  }

  const Cudnn& cudnn_;
  std::vector<CudnnDescriptor> tensors_, details_, operations_;
  std::vector<int64_t> buffers_, scalar_ids_;
  std::vector<float> scalars_;
};

}  // namespace tessera
