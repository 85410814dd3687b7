// SPDX-License-Identifier: Apache-2.0
#include "sim/other_attention.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
// What is there for a moment: the product before softmax; the gradient of probabilities, over which
// that of the product is written, and with dropout that of those that are left.
constexpr int64_t kPassing = 2;

int64_t pairs_of(const TensorType& q, const TensorType& k) {
  return q.dims[0].size * q.dims[1].size * q.dims[2].size * q.dims[3].size * k.dims[1].size;
}

// Entries of one kind in a routine, of which another program keeps bytes that ours does not.
using Entries = int64_t (*)(OpKind op, const std::vector<TensorType>& operands);

int64_t scores(OpKind op, const std::vector<TensorType>& operands) {
  return op == OpKind::attention ? pairs_of(operands[0], operands[1]) : 0;
}

// Dropout before a layer's two residual sums: of the stream, as the norm after each sees it.
int64_t stream_entries(OpKind op, const std::vector<TensorType>& operands) {
  if (op != OpKind::layer_norm && op != OpKind::rms_norm) return 0;
  return operands[0].bytes() / size_bytes(operands[0].dtype);
}

int64_t count(const ProgramClass& program_class, RoutineKind routine, Entries entries) {
  int64_t sum = 0;
  for (const Instruction& instruction : program_class.routine(routine))
    if (const auto* kernel = instruction.as<KernelInstruction>(); kernel != nullptr)
      sum += entries(kernel->op, types_of(program_class, reads(instruction)));
  return sum;
}

bool has_op(const ProgramClass& program_class, RoutineKind routine, OpKind op) {
  return std::ranges::any_of(program_class.routine(routine), [op](const Instruction& instruction) {
    const auto* kernel = instruction.as<KernelInstruction>();
    return kernel != nullptr && kernel->op == op;
  });
}

// The most bytes that a rank keeps at once, of what each layer keeps until its backward.
class KeptWalk {
 public:
  KeptWalk(const Program& program, Entries entries, int64_t kept, int64_t passing,
           int64_t passing_back)
      : program_(program),
        entries_(entries),
        kept_(kept),
        passing_(passing),
        passing_back_(passing_back) {}

  int64_t most(const Script& script) {
    int64_t most = 0;
    for (const ScriptCall& call : script.calls) most = std::max(most, walk(call));
    return most;
  }

 private:
  // Returns the most while this call runs.
  int64_t walk(const ScriptCall& call) {
    const ProgramClass& own = program_.class_of(program_.blocks[static_cast<size_t>(call.block)]);
    if (!has_op(own, RoutineKind::Forward, OpKind::attention)) return now_;
    const bool again = comes_again(own), forward = call.routine == RoutineKind::Forward;
    const int64_t made = forward || again ? entries_in(own, call.routine) : 0;
    const bool gives_gradient = has_op(own, call.routine, OpKind::attention_grad);
    int64_t& held = held_[{call.block, call.microbatch}];
    const int64_t back = gives_gradient ? entries_in(own, RoutineKind::Forward) : 0;
    const int64_t most = now_ + kept_ * made + std::max(passing_ * made, passing_back_ * back);
    const bool keeps = call.routine == RoutineKind::Recompute || (forward && !again);
    if (keeps) {
      held += kept_ * made;
      now_ += kept_ * made;
    }
    if (gives_gradient) now_ -= std::exchange(held, 0);
    return most;
  }

  // All of it is computed again for the backward, and not kept from the forward.
  bool comes_again(const ProgramClass& own) {
    for (const RoutineKind routine :
         {RoutineKind::Recompute, RoutineKind::Backward, RoutineKind::InputGrad})
      if (entries_in(own, routine) >= entries_in(own, RoutineKind::Forward)) return true;
    return false;
  }

  int64_t entries_in(const ProgramClass& own, RoutineKind routine) {
    const auto [found, fresh] = counted_.try_emplace({&own, routine});
    if (fresh) found->second = count(own, routine, entries_);
    return found->second;
  }

  const Program& program_;
  Entries entries_;
  int64_t kept_, passing_, passing_back_;  // bytes of an entry
  std::map<std::pair<const ProgramClass*, RoutineKind>, int64_t> counted_;
  std::map<std::pair<int, int>, int64_t> held_;  // by block and microbatch
  int64_t now_ = 0;
};

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

int64_t kept_attention_bytes(const Program& program, const Script& script,
                             const OtherAttention& attention) {
  int64_t bytes = 0;
  if (attention.unfused())
    bytes += KeptWalk(program, scores, kKept + (attention.dropout ? kKeptDropout : 0), kPassing,
                      attention.dropout ? 2 * kPassing : kPassing)
                 .most(script);
  if (attention.dropout) bytes += KeptWalk(program, stream_entries, 1, 0, 0).most(script);
  return bytes;
}

}  // namespace tessera
