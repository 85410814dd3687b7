// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/routing.h"

namespace tessera {

Dims require_routing(const OpCall& call) {
  const TensorType& logits = call.operand(0);
  require_float(call, 0);
  call.require(logits.dtype == accumulator_of(logits.dtype),
               "logits are {}, which is too coarse to choose by: use fp32", name(logits.dtype));
  call.require(!logits.dims.empty(), "logits have no dim of experts");
  const std::string& score = call.attributes.word("score");
  call.require(score == "softmax" || score == "sigmoid" || score == "topk_softmax",
               "score = {} is not one of softmax, sigmoid, topk_softmax", score);
  const Routing routing(call.attributes, logits.dims.back().size);
  call.require(routing.groups >= 1 && routing.experts % routing.groups == 0,
               "{} experts cannot form {} equal groups", routing.experts, routing.groups);
  call.require(routing.kept >= 1 && routing.kept <= routing.groups,
               "kept = {} is not between 1 and the {} groups", routing.kept, routing.groups);
  const int64_t eligible = routing.experts / routing.groups * routing.kept;
  call.require(routing.top_k >= 1 && routing.top_k <= eligible,
               "top_k = {} is not between 1 and the {} experts to choose from", routing.top_k,
               eligible);
  Dims dims(logits.dims.begin(), logits.dims.end() - 1);
  call.require(!logits.has("top_k"), "logits {} have a dim named top_k", to_string(logits));
  dims.push_back({"top_k", routing.top_k});
  return dims;
}

int64_t routing_workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  return routing_scratch(call.operand(0).dims.back().size) * size_bytes(call.operand(0).dtype) *
         profile.threads;
}

// A token needs the scores of all experts, and all of its choices.
ShardingRule routing_sharding(const OpCall& call) {
  return {.whole = {call.operand(0).dims.back().name, "top_k"}};
}

}  // namespace tessera
