// SPDX-License-Identifier: Apache-2.0
#include "sim/other_loss.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "ir/op_list.h"
#include "program/buffer_types.h"

namespace tessera {
namespace {

// From the programs' sources, of logits in 16 bits. Megatron: 2 written; to fp32 2 + 4; the
// maximum 4; less it 8; exp 8; the sum 4; divided 8; the gradient times the loss's 8, to 16 bits
// 6, and read by two products 4, with 2 for the first read of the product. PyTorch: written 2, to
// fp32 6, log_softmax 8, the loss's gradient 4, log_softmax's 12, to 16 bits 6, products 4. A
// compiler joins what comes between two products: written 2, read for maximum and sum 4, the
// gradient 4, products 4.
constexpr std::array kLosses{
    OtherLoss{.name = "tessera"},
    OtherLoss{.name = "megatron", .passing = 58, .held = 10},
    OtherLoss{.name = "pytorch", .passing = 42, .held = 10},
    OtherLoss{.name = "compiled", .passing = 14, .held = 4},
};

// A vocabulary in shards has two kernels, whose bytes are taken to be the same.
double share_of(OpKind op) {
  if (op == OpKind::output_loss_grad) return 1;
  return op == OpKind::output_stats || op == OpKind::sharded_loss_grad ? 0.5 : 0;
}

double logits_of(const TensorType& x, const TensorType& table) {
  return static_cast<double>(x.dims[0].size * x.dims[1].size * table.dims[0].size);
}

}  // namespace

const OtherLoss& find_other_loss(std::string_view name) {
  const auto* found = std::ranges::find(kLosses, name, &OtherLoss::name);
  TESSERA_CHECK(found != kLosses.end());
  return *found;
}

std::vector<std::string> other_loss_names() {
  std::vector<std::string> names;
  for (const OtherLoss& loss : kLosses) names.emplace_back(loss.name);
  return names;
}

double moved_logits(const OpCall& call) {
  const double share = share_of(call.op);
  return share > 0 ? share * logits_of(call.operand(0), call.operand(1)) : 0;
}

int64_t held_logit_bytes(const Program& program, const OtherLoss& loss) {
  double most = 0;
  for (const ProgramClass& each : program.classes)
    for (const auto& routine : each.routines)
      for (const Instruction& instruction : routine) {
        const auto* kernel = instruction.as<KernelInstruction>();
        if (kernel == nullptr || share_of(kernel->op) == 0) continue;
        const std::vector<TensorType> operands = types_of(each, reads(instruction));
        most = std::max(most, loss.held * logits_of(operands[0], operands[1]));
      }
  return static_cast<int64_t>(most);
}

}  // namespace tessera
