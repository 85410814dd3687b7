// SPDX-License-Identifier: Apache-2.0
// What lies between the products of a layer in other programs: kernels that read and write the
// stream where ours are fused, and products that are one there and several here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_def.h"
#include "program/program.h"

namespace tessera {

// Of a kernel of another program beyond those of ours: bytes that pass through memory for each
// entry of the first operand, and launches.
struct More {
  double bytes = 0;
  int launches = 0;
};

struct OtherLayer {
  std::string_view name;
  More norm_grad = {}, attention = {}, attention_grad = {}, bias_add = {}, bias_and_sum = {};
  bool joins_qkv = false;  // one product makes queries, keys and values, and one their gradient

  bool same_as_ours() const { return name == "tessera"; }
};

const OtherLayer& find_other_layer(std::string_view name);
std::vector<std::string> other_layer_names();

// Bytes of a kernel more than ours moves; negative where it moves less.
double moved_by_layer(const OtherLayer& layer, const OpCall& call);

// Kernels that a host launches for this one of ours.
int launched_by_layer(const OtherLayer& layer, const KernelInstruction& kernel);

// What a routine's instruction is to the products of queries, keys and values.
enum class QkvPart : uint8_t {
  None,
  Joined,  // a product of what an earlier one has read: it is a part of that one
  Sum,     // of gradients, which the one product has no need of
};
std::vector<QkvPart> qkv_parts(const OtherLayer& layer, std::span<const Instruction> routine);

}  // namespace tessera
