// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/operation_graph.h"

#include <fmt/format.h>

#include <limits>

namespace tessera {

GraphTensor OperationGraph::add(cudnnDataType_t type, const GraphDims& dims,
                                const GraphDims& strides, bool is_virtual, bool by_value) {
  const int64_t id = static_cast<int64_t>(tensors_.size()) + 1, alignment = 16;
  CudnnDescriptor& made = tensors_.emplace_back(cudnn_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims.data());
  made.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data());
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
  if (is_virtual) made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  if (by_value) made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
  made.finalize();
  return {id, dims};
}

GraphTensor OperationGraph::buffer(cudnnDataType_t type, const GraphDims& dims,
                                   const GraphDims& strides) {
  const GraphTensor made = add(type, dims, strides, false, false);
  buffers_.push_back(made.id);
  return made;
}

GraphTensor OperationGraph::scalar(float value) {
  const GraphTensor made = add(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
  scalar_ids_.push_back(made.id);
  scalars_.push_back(value);
  return made;
}

GraphTensor OperationGraph::inner(cudnnDataType_t type, const GraphDims& dims,
                                  const GraphDims& strides) {
  return add(type, dims, strides, true, false);
}

GraphTensor OperationGraph::inner(cudnnDataType_t type, const GraphDims& dims) {
  return inner(type, dims, {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1});
}

void OperationGraph::matmul(const GraphTensor& a, const GraphTensor& b, const GraphTensor& c) {
  CudnnDescriptor& detail = details_.emplace_back(cudnn_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  detail.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  detail.finalize();
  CudnnDescriptor& made =
      operations_.emplace_back(cudnn_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, of(a));
  made.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, of(b));
  made.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, of(c));
  made.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, detail);
  made.finalize();
}

void OperationGraph::pointwise(cudnnPointwiseMode_t mode,
                               std::initializer_list<GraphTensor> operands,
                               const GraphTensor& result, cudnnDataType_t compute, int64_t axis) {
  CudnnDescriptor& detail = details_.emplace_back(cudnn_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  detail.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  detail.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  if (axis >= 0) detail.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
  detail.finalize();
  CudnnDescriptor& made =
      operations_.emplace_back(cudnn_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, detail);
  constexpr cudnnBackendAttributeName_t kPorts[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                    CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                    CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  const auto* port = kPorts;
  for (const GraphTensor& operand : operands) made.set(*port++, of(operand));
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, of(result));
  made.finalize();
}

void OperationGraph::reduce(cudnnReduceTensorOp_t op, const GraphTensor& x, const GraphTensor& y) {
  CudnnDescriptor& detail = details_.emplace_back(cudnn_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  detail.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  detail.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op);
  detail.finalize();
  CudnnDescriptor& made =
      operations_.emplace_back(cudnn_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, detail);
  made.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, of(x));
  made.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, of(y));
  made.finalize();
}

void OperationGraph::view(const GraphTensor& x, const GraphTensor& y) {
  CudnnDescriptor& made =
      operations_.emplace_back(cudnn_, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, of(x));
  made.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, of(y));
  made.finalize();
}

GraphTensor OperationGraph::pointwise(cudnnPointwiseMode_t mode,
                                      std::initializer_list<GraphTensor> operands) {
  const GraphTensor result = inner(CUDNN_DATA_FLOAT, operands.begin()->dims);
  pointwise(mode, operands, result);
  return result;
}

GraphTensor OperationGraph::causal(const GraphTensor& scores) {
  const GraphTensor row = inner(CUDNN_DATA_INT32, scores.dims),
                    column = inner(CUDNN_DATA_INT32, scores.dims),
                    sees = inner(CUDNN_DATA_BOOLEAN, scores.dims);
  pointwise(CUDNN_POINTWISE_GEN_INDEX, {scores}, row, CUDNN_DATA_FLOAT, 2);
  pointwise(CUDNN_POINTWISE_GEN_INDEX, {scores}, column, CUDNN_DATA_FLOAT, 3);
  pointwise(CUDNN_POINTWISE_CMP_GE, {row, column}, sees, CUDNN_DATA_BOOLEAN);
  const GraphTensor hidden = scalar(-std::numeric_limits<float>::infinity());
  return pointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, hidden, sees});
}

OperationPlan OperationGraph::plan() const {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& each : operations_) raw.push_back(each.get());
  CudnnDescriptor graph(cudnn_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
            static_cast<int64_t>(raw.size()), raw.data());
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn_.handle);
  graph.finalize();

  CudnnDescriptor heuristics(cudnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  heuristics.finalize();
  const int64_t count =
      heuristics.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<CudnnDescriptor> engines;
  raw.clear();
  for (int64_t i = 0; i < count; ++i)
    raw.push_back(engines.emplace_back(cudnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  const int64_t given = heuristics.read(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data());

  for (int64_t i = 0; i < given; ++i) {
    CudnnDescriptor plan(cudnn_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn_.handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engines[static_cast<size_t>(i)]);
    if (cudnn_.BackendFinalize(plan.get()) != CUDNN_STATUS_SUCCESS) continue;
    OperationPlan made(cudnn_, std::move(plan));
    made.plan_.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                    &made.workspace_bytes_);
    made.ids_ = buffers_;
    made.ids_.insert(made.ids_.end(), scalar_ids_.begin(), scalar_ids_.end());
    made.scalars_ = scalars_;
    return made;
  }
  throw CudaError(
      fmt::format("cuDNN {} has no plan for it, of {} engines", cudnn_.GetVersion(), given));
}

void OperationPlan::enqueue(std::span<void* const> buffers, void* workspace, cudaStream_t stream) {
  std::vector<void*> data(buffers.begin(), buffers.end());
  for (float& value : scalars_) data.push_back(&value);
  CudnnDescriptor pack(*cudnn_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto count = static_cast<int64_t>(ids_.size());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, data.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids_.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  cudnn_->check(cudnn_->SetStream(cudnn_->handle, stream), "take a stream");
  cudnn_->check(cudnn_->BackendExecute(cudnn_->handle, plan_.get(), pack.get()), "enqueue a plan");
}

}  // namespace tessera
