// SPDX-License-Identifier: Apache-2.0
// concat(x, y): the innermost dims of x and y next to each other, as one dim of a name of its own.
// y is repeated along the dims of x that it lacks, which are those just outside the innermost one:
// the rope part of latent attention's keys is one for all heads.
#include "ir/op_list.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType &x = call.operand(0), &y = call.operand(1);
  require_float(call, 0);
  call.require(!y.dims.empty() && y.dims.size() <= x.dims.size() && y.dtype == x.dtype &&
                   begins_with(x.dims, Dims(y.dims.begin(), y.dims.end() - 1)),
               "y {} does not match the outermost dims of x {}", to_string(y), to_string(x));
  TensorType z = x;
  z.dims.back() = {call.attributes.word("dim"), x.dims.back().size + y.dims.back().size};
  return {z};
}

void gradient(GradientBuilder& g) {
  const Dims &x = g.type(g.operand(0)).dims, &y = g.type(g.operand(1)).dims;
  const auto gradients = g.emit(GradientBuilder::kBoth, OpKind::concat_grad, {g.result_gradient(0)},
                                {{"x_dim", x.back().name},
                                 {"x_size", x.back().size},
                                 {"y_dim", y.back().name},
                                 {"repeated", static_cast<int64_t>(x.size() - y.size())}});
  for (size_t i = 0; i < 2; ++i)
    if (g.needs(i)) g.set(i, gradients[i]);
}

Cost cost(const OpCall& call) { return cost_of(call, 0); }

ShardingRule sharding(const OpCall& call) {
  return {.whole = {call.operand(0).dims.back().name, call.operand(1).dims.back().name,
                    call.attributes.word("dim")}};
}

}  // namespace

const OpDef& concat_def() {
  static const OpDef def{
      .name = "concat",
      .summary =
          "x and y next to each other along the innermost dim; y is repeated where it lacks "
          "dims of x",
      .operands = {{"x"}, {"y"}},
      .results = {"z"},
      .attributes = {{"dim", "joined"}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
  };
  return def;
}

// concat_grad(dz): the two parts of dz; that of y is summed over the `repeated` dims.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  const TensorType& dz = call.operand(0);
  require_float(call, 0);
  const int64_t x_size = call.attributes.integer("x_size"), dims = std::ssize(dz.dims);
  const int64_t repeated = call.attributes.integer("repeated");
  call.require(dims > 0 && x_size > 0 && x_size < dz.dims.back().size,
               "x_size = {} leaves no part of dz {}", x_size, to_string(dz));
  call.require(repeated >= 0 && repeated < dims, "repeated = {} of the {} dims of dz {}", repeated,
               dims, to_string(dz));
  TensorType dx = dz, dy{dz.dtype, Dims(dz.dims.begin(), dz.dims.end() - 1 - repeated)};
  dx.dims.back() = {call.attributes.word("x_dim"), x_size};
  dy.dims.push_back({call.attributes.word("y_dim"), dz.dims.back().size - x_size});
  return {dx, dy};
}

// Sums alone.
Cost grad_cost(const OpCall& call) {
  const TensorType &dx = call.result(0), &dy = call.result(1);
  const int64_t rows = dx.num_elements() / dx.dims.back().size;
  return cost_of(call, rows * dy.dims.back().size - dy.num_elements());
}

ShardingRule grad_sharding(const OpCall& call) {
  return {.whole = {call.operand(0).dims.back().name, call.attributes.word("x_dim"),
                    call.attributes.word("y_dim")}};
}

}  // namespace

const OpDef& concat_grad_def() {
  static const OpDef def{
      .name = "concat_grad",
      .summary =
          "the two parts of a gradient along the innermost dim; the second is summed where y "
          "was repeated",
      .operands = {{"dz"}},
      .results = {"dx", "dy"},
      .attributes = {{"x_dim", "x"},
                     {"x_size", int64_t{1}},
                     {"y_dim", "y"},
                     {"repeated", int64_t{0}}},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .sharding = grad_sharding,
  };
  return def;
}

}  // namespace tessera
