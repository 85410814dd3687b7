// SPDX-License-Identifier: Apache-2.0
// rope(x, positions): pairs (i, i + e/2) of the innermost dim are rotated by position *
// frequency_i, as Llama has it. Its gradient is the rotation back. With largest = 1 also the
// largest |y| (fold_largest_entries).
#include "ir/op_list.h"
#include "ops/largest_entry.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType &x = call.operand(0), &positions = call.operand(1);
  require_float(call, 0);
  call.require(positions.dtype == DType::Int32, "positions must be int32, is {}",
               name(positions.dtype));
  call.require(x.dims.size() > positions.dims.size() && begins_with(x.dims, positions.dims),
               "positions {} do not match the outermost dims of x {}", to_string(positions),
               to_string(x));
  call.require(x.dims.back().size % 2 == 0, "{} ({}) must be even: pairs are rotated",
               x.dims.back().name, x.dims.back().size);
  call.require(call.attributes.real("theta") > 0, "theta = {} must be positive",
               call.attributes.real("theta"));
  const std::string& scaling = call.attributes.word("scaling");
  call.require(scaling == "llama3" || scaling == "yarn", "scaling = {} is neither llama3 nor yarn",
               scaling);
  if (!call.attributes.integer("largest")) return {x};
  return {x, largest_entry_type()};
}

void gradient(GradientBuilder& g) {
  if (!g.needs(0)) return;
  Attributes attributes = g.attributes();
  attributes.set("inverse", 1 - attributes.integer("inverse"));
  g.set(0, g.emit(0, OpKind::rope, {g.result_gradient(0), g.operand(1)}, attributes)[0]);
}

// Two products and a sum per element; per position and pair, the angle, its sine and its cosine.
Cost cost(const OpCall& call) {
  const TensorType &x = call.operand(0), &positions = call.operand(1);
  return cost_of(call,
                 3 * x.num_elements() + 3 * positions.num_elements() * (x.dims.back().size / 2));
}

int64_t workspace_bytes(const OpCall& call, const DeviceProfile&) {
  return call.operand(0).dims.back().size / 2 * size_bytes(DType::Fp64);  // the frequencies
}

// The two halves of a head must be on one rank.
ShardingRule sharding(const OpCall& call) {
  if (call.attributes.integer("largest")) return largest_entry_sharding(call, {1});
  return {.whole = {call.operand(0).dims.back().name}};
}

}  // namespace

const OpDef& rope_def() {
  static const OpDef def{
      .name = "rope",
      .summary = "rotary position embedding, with Llama 3's or YaRN's scaling of low frequencies",
      .operands = {{"x"}, {"positions"}},
      .results = {"y", "largest"},
      .attributes = {{"theta", 10000.0},
                     {"inverse", int64_t{0}},
                     {"scaling", "llama3"},
                     {"scaling_factor", 1.0},
                     {"low_freq_factor", 1.0},
                     {"high_freq_factor", 4.0},
                     {"original_context", int64_t{8192}},
                     {"largest", int64_t{0}}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
