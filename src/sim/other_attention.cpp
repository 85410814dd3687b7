// SPDX-License-Identifier: Apache-2.0
#include "sim/other_attention.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/choices.h"
#include "core/error.h"
#include "ir/op_list.h"
#include "program/buffer_types.h"

namespace tessera {
namespace {

// Bytes that pass through memory for each score in bf16. Forward: the product is written; softmax
// reads and writes; dropout reads, and writes the result and a mask; the second product reads.
// Backward: four products read or write scores, softmax reads two and writes one, dropout reads one
// and the mask and writes one.
constexpr UnfusedCost kForward{.product_bytes = 4, .other_bytes = 4};
constexpr UnfusedCost kBackward{.product_bytes = 8, .other_bytes = 6};
constexpr int64_t kDropoutBytes = 5;
// What is kept: probabilities, and with dropout those that are left, and the mask (Korthikanti et
// al., 2022, equation 1: 5 a s^2 b).
constexpr int64_t kKept = 2, kKeptDropout = 3;

int64_t pairs_of(const TensorType& q, const TensorType& k) {
  return q.dims[0].size * q.dims[1].size * q.dims[2].size * q.dims[3].size * k.dims[1].size;
}

int64_t kept_by(const ProgramClass& program_class, RoutineKind routine,
                const OtherAttention& attention) {
  int64_t bytes = 0;
  for (const Instruction& instruction : program_class.routine(routine)) {
    const auto* kernel = instruction.as<KernelInstruction>();
    if (kernel == nullptr || kernel->op != OpKind::attention) continue;
    const std::vector<TensorType> operands = types_of(program_class, reads(instruction));
    bytes += pairs_of(operands[0], operands[1]) * (kKept + (attention.dropout ? kKeptDropout : 0));
  }
  return bytes;
}

bool has_gradient(const ProgramClass& program_class, RoutineKind routine) {
  return std::ranges::any_of(program_class.routine(routine), [](const Instruction& instruction) {
    const auto* kernel = instruction.as<KernelInstruction>();
    return kernel != nullptr && kernel->op == OpKind::attention_grad;
  });
}

// Scores are computed again for the backward: they are not kept from the forward.
bool comes_again(const ProgramClass& program_class, const OtherAttention& attention) {
  for (const RoutineKind routine :
       {RoutineKind::Recompute, RoutineKind::Backward, RoutineKind::InputGrad})
    if (kept_by(program_class, routine, attention) > 0) return true;
  return false;
}

}  // namespace

void check_attention(const Cluster& cluster, const OtherAttention& attention) {
  if (attention.kernel.empty() || attention.unfused()) return;
  std::set<std::string> known{std::string(kUnfused)};
  for (const EfficiencyTable& table : cluster.efficiencies)
    if (!table.kernel.empty()) known.insert(table.kernel);
  if (known.contains(attention.kernel)) return;
  throw user_error("cluster {} has no efficiency of attention by {}", cluster.name,
                   attention.kernel)
      .at("--attention " + attention.kernel)
      .help(fmt::format("use {}, or add an [[efficiency]] with kernel = \"{}\" to the cluster",
                        join_choices(std::vector<std::string>(known.begin(), known.end())),
                        attention.kernel));
}

UnfusedCost unfused_cost(const OpCall& call, const OtherAttention& attention) {
  const TensorType &q = call.operand(0), &v = call.operand(2);
  const int64_t pairs = pairs_of(q, call.operand(1));
  const int64_t both = q.dims[4].size + v.dims[3].size;
  const bool forward = call.op == OpKind::attention;
  const UnfusedCost& bytes = forward ? kForward : kBackward;
  return {.flops = (forward ? 2 : 4) * both * pairs,
          .product_bytes = bytes.product_bytes * pairs,
          .other_bytes = (bytes.other_bytes + (attention.dropout ? kDropoutBytes : 0)) * pairs};
}

int64_t kept_score_bytes(const Program& program, const Script& script,
                         const OtherAttention& attention) {
  if (!attention.unfused()) return 0;
  std::map<std::pair<int, int>, int64_t> kept;  // by block and microbatch
  int64_t now = 0, most = 0;
  for (const ScriptCall& call : script.calls) {
    const ProgramClass& program_class =
        program.class_of(program.blocks[static_cast<size_t>(call.block)]);
    const int64_t bytes = kept_by(program_class, call.routine, attention);
    const std::pair key{call.block, call.microbatch};
    most = std::max(most, now + bytes);
    const bool keeps =
        call.routine == RoutineKind::Recompute ||
        (call.routine == RoutineKind::Forward && !comes_again(program_class, attention));
    if (keeps) {
      kept[key] += bytes;
      now += bytes;
    }
    if (has_gradient(program_class, call.routine)) {
      now -= kept[key];
      kept.erase(key);
    }
  }
  return most;
}

}  // namespace tessera
