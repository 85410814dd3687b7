// SPDX-License-Identifier: Apache-2.0
#include "exec/collective_request.h"

#include "exec/tensor_parts.h"

namespace tessera {
namespace {

// Both sides whole, until told otherwise.
Collective request_of(CollectiveKind kind, const TensorRef& input, const TensorRef& output,
                      std::string_view title) {
  const TensorType& type = input.type ? *input.type : *output.type;
  const Parts whole = contiguous_parts(type.num_elements());
  return {.kind = kind,
          .reduction = Reduction::Sum,
          .dtype = type.dtype,
          .input = input.data,
          .input_parts = whole,
          .output = output.data,
          .output_parts = whole,
          .root = 0,
          .name = title};
}

// Of one side of an exchange, whose dim `cut` is cut while `other` is whole there. Parts are read
// where they lie and written where they belong, in one order: outer dims, those between the two,
// inner ones.
Parts exchange_parts(const TensorType& type, size_t cut, size_t other, int64_t ranks) {
  const size_t outer_dim = std::min(cut, other), inner_dim = std::max(cut, other);
  Parts p = parts_along(type, cut, ranks);
  if (cut == outer_dim) {
    // A part is `middle` rows of `inner` elements, in one piece.
    int64_t inner = 1;
    for (size_t i = inner_dim; i < type.dims.size(); ++i) inner *= type.dims[i].size;
    p.middle = p.inner / inner;
    p.middle_stride = inner;
    p.inner = inner;
  } else {
    int64_t middle = 1;
    for (size_t i = outer_dim; i < inner_dim; ++i) middle *= type.dims[i].size;
    p.middle = middle;
    p.middle_stride = p.outer_stride;
    p.outer /= middle;
    p.outer_stride *= middle;
  }
  return p;
}

}  // namespace

Collective send_request(const TensorRef& buffer, int to, std::string_view title) {
  Collective send = request_of(CollectiveKind::Send, buffer, {}, title);
  send.root = to;
  return send;
}

Collective receive_request(const TensorRef& buffer, int from, std::string_view title) {
  Collective receive = request_of(CollectiveKind::Recv, {}, buffer, title);
  receive.root = from;
  return receive;
}

CollectiveRequest::CollectiveRequest(const CollectiveInstruction& instruction, int rank, int ranks,
                                     std::span<const TensorRef> inputs, const TensorRef& output,
                                     std::string_view title) {
  const TensorRef& input = inputs[0];
  const auto split = static_cast<size_t>(instruction.split);
  const auto join = static_cast<size_t>(instruction.join);
  Collective& only = requests_[0];
  switch (instruction.op) {
    case CollectiveOp::AllGather:
      only = request_of(CollectiveKind::AllGather, input, output, title);
      only.output_parts = parts_along(*output.type, join, ranks);
      only.input_parts = one_part_like(only.output_parts);
      break;
    case CollectiveOp::ReduceScatter:
      only = request_of(CollectiveKind::ReduceScatter, input, output, title);
      only.input_parts = parts_along(*input.type, split, ranks);
      only.output_parts = one_part_like(only.input_parts);
      break;
    case CollectiveOp::AllReduce:
      only = request_of(CollectiveKind::AllReduce, input, output, title);
      break;
    case CollectiveOp::AllToAll:
      only = request_of(CollectiveKind::AllToAll, input, output, title);
      only.input_parts = exchange_parts(*input.type, split, join, ranks);
      only.output_parts = exchange_parts(*output.type, join, split, ranks);
      break;
    case CollectiveOp::Shift:
      requests_ = {receive_request(output, (rank + ranks - 1) % ranks, title),
                   send_request(input, (rank + 1) % ranks, title)};
      count_ = 2;
      break;
    case CollectiveOp::PutRows:
    case CollectiveOp::TakeRows:
      only = request_of(instruction.op == CollectiveOp::PutRows ? CollectiveKind::PutRows
                                                                : CollectiveKind::TakeRows,
                        input, output, title);
      only.table = {.ends = inputs[1].as<int32_t>(),
                    .experts = inputs[1].type->dims[1].size,
                    .rows = input.type->dims[0].size * input.type->dims[1].size,
                    .most = instruction.most_rows};
      break;
  }
  if (instruction.op != CollectiveOp::Shift) only.reduction = instruction.reduction;
}

}  // namespace tessera
