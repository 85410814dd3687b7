// SPDX-License-Identifier: Apache-2.0
// What moves is where a gradient adds up: the rank's shard of sums where it keeps one, else the
// whole gradient. Scripts decide when; what an update on the host reads does not come back.
#include "passes/offload/offload_gradients.h"

#include <algorithm>

#include "ir/op_list.h"
#include "ir/optimizer.h"
#include "passes/gradient/bundle_flats.h"
#include "passes/gradient/bundle_parameters.h"
#include "passes/offload/flat_copy.h"

namespace tessera {
namespace {

class BundleGradient {
 public:
  BundleGradient(BlockClass& block_class, const BundlePlan& plan)
      : block_class_(block_class), graph_(block_class.graph), plan_(plan), bundle_(plan.bundle) {}

  int64_t run(bool updated_there) {
    const ValueId shard = find_value(block_class_, bundle_, FlatRole::GradientShard);
    device_ = shard != kNone ? shard : find_value(block_class_, bundle_, FlatRole::Gradient);
    const TensorType type = graph_.value(device_).type;
    host_ = graph_.add_input(
        {.kind = InputKind::Flat,
         .value = kNone,
         .state = {},
         .flat = FlatSpec{.bundle = bundle_.name, .role = FlatRole::GradientAtRest}},
        bundle_.name + ".gradient_at_rest", type);
    graph_.value(host_).origin = graph_.value(device_).origin;
    graph_.value(host_).space = MemorySpace::Host;
    add_flat_copy(graph_, {host_, device_, Phase::GradientsIn, Phase::GradientsInDone});
    add_flat_copy(graph_,
                  {device_, host_, Phase::GradientsOut, Phase::GradientsOutDone, without_gaps()});
    if (updated_there) read_at_rest();
    return type.bytes();
  }

 private:
  // Nobody has written the padding before the gradient is summed.
  ValueId without_gaps() {
    const std::string gaps = plan_.gaps();
    const bool whole = graph_.input_of(device_)->flat->role == FlatRole::Gradient;
    if (gaps == "none" || !whole) return device_;
    const ValueId clean = emit_for_bundle(graph_, bundle_, OpKind::clear_gaps, {device_},
                                          {{"gaps", gaps}}, Phase::GradientsOut, "leaves");
    return_flat(graph_, device_, clean);
    return clean;
  }

  void read_at_rest() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id)
      if (Node& node = graph_.node(id); node.phase == Phase::Update && is_update(node.op))
        std::ranges::replace(node.operands, device_, host_);
  }

  BlockClass& block_class_;
  Graph& graph_;
  const BundlePlan& plan_;
  const Bundle& bundle_;
  ValueId device_ = kNone, host_ = kNone;
};

PassCounts rest_on_host(Module& module, const Plan& plan) {
  const bool updated_there =
      plan.offload.update_on_host && plan.offload.states != OffloadedStates::None;
  int64_t buffers = 0, bytes = 0;
  for (BlockClass& block_class : module.classes)
    for (const BundlePlan& bundle : bundle_parameters(block_class, plan)) {
      bytes += BundleGradient(block_class, bundle).run(updated_there);
      ++buffers;
    }
  return {{"buffers", buffers}, {"bytes", bytes}};
}

}  // namespace

Pass offload_gradients(Plan plan) {
  return {.name = "offload_gradients",
          .summary = "lets gradients rest on the host, with copies around what adds to them",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [plan = std::move(plan)](Module& module) {
            return plan.offload.gradients ? rest_on_host(module, plan) : PassCounts{};
          }};
}

}  // namespace tessera
