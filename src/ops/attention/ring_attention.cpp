// SPDX-License-Identifier: Apache-2.0
// At hop h a rank has the keys of the rank h positions before it. Their gradients are passed on
// with them and take one more hop, back to their owner.
#include "ops/attention/ring_attention.h"

#include "ir/op_list.h"

namespace tessera {
namespace {

// What is passed around the ring: keys, values, and their positions.
struct Keys {
  ValueId k, v, positions, document;

  Keys shifted(ExpansionBuilder& b) const {
    return {b.shift(k), b.shift(v), b.shift(positions), b.shift(document)};
  }
};

}  // namespace

// The sequence is split over a ring; a head is not split. A hop of such a ring, whose keys are not
// those of the queries, is not split again.
ShardingRule attention_sharding(const OpCall& call) {
  const Dims &q = call.operand(0).dims, &v = call.operand(2).dims;
  const size_t own_keys = call.op == OpKind::attention ? 5 : 8;
  if (call.operands.size() > own_keys) return {.whole = {q[1].name, q[4].name, v[3].name}};
  return {.whole = {q[4].name, v[3].name}, .expandable = {q[1].name}};
}

std::vector<ValueId> ring_attention(ExpansionBuilder& b) {
  const ValueId q = b.operand(0), positions = b.operand(3), document = b.operand(4);
  Keys keys{b.operand(1), b.operand(2), positions, document};
  std::vector<ValueId> sum;
  for (int hop = 0; hop < b.ranks(); ++hop) {
    if (hop > 0) keys = keys.shifted(b);
    const std::vector<ValueId> part = b.emit(
        OpKind::attention, {q, keys.k, keys.v, positions, document, keys.positions, keys.document},
        b.attributes());
    sum = hop == 0 ? part : b.emit(OpKind::merge_attention, {sum[0], sum[1], part[0], part[1]});
  }
  return sum;
}

std::vector<ValueId> ring_attention_grad(ExpansionBuilder& b) {
  const ValueId q = b.operand(0), o = b.operand(3), lse = b.operand(4), dout = b.operand(5);
  const ValueId positions = b.operand(6), document = b.operand(7);
  Keys keys{b.operand(1), b.operand(2), positions, document};
  const auto add = [&](ValueId x, ValueId y) { return b.emit(OpKind::add, {x, y}).front(); };
  ValueId dq = kNone, dk = kNone, dv = kNone;
  for (int hop = 0; hop < b.ranks(); ++hop) {
    if (hop > 0) keys = keys.shifted(b);
    const std::vector<ValueId> part = b.emit(
        OpKind::attention_grad,
        {q, keys.k, keys.v, o, lse, dout, positions, document, keys.positions, keys.document},
        b.attributes());
    dq = hop == 0 ? part[0] : add(dq, part[0]);
    dk = hop == 0 ? part[1] : add(b.shift(dk), part[1]);
    dv = hop == 0 ? part[2] : add(b.shift(dv), part[2]);
  }
  return {dq, b.shift(dk), b.shift(dv)};
}

}  // namespace tessera
