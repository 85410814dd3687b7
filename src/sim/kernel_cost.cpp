// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/error.h"
#include "ir/op_list.h"
#include "ir/optimizer.h"
#include "ops/matmul/fp8_product.h"
#include "ops/moe/expert_contraction.h"
#include "ops/moe/expert_fp8_product.h"
#include "ops/optimizer/newton_schulz.h"

namespace tessera {
namespace {

Cost cost_of_call(const OpCall& call) {
  const OpDef& def = op_def(call.op);
  return def.cost ? def.cost(call)
                  : Cost{.flops = 0, .bytes = bytes_of(call.operands) + bytes_of(call.results)};
}

bool is_experts_fp8(OpKind op) {
  return op == OpKind::expert_matmul_fp8 || op == OpKind::expert_matmul_dw_fp8;
}
bool multiplies_for_experts(OpKind op) {
  return op == OpKind::expert_matmul || op == OpKind::expert_matmul_dw || is_experts_fp8(op);
}

Arithmetic arithmetic_of(const OpCall& call) {
  if (call.op == OpKind::matmul_fp8)
    return multiplies_in_fp8(fp8_operands(call))
               ? Arithmetic::Fp8
               : tessera::arithmetic_of(decoded_dtype(call.result(0).dtype));
  if (is_experts_fp8(call.op)) return Arithmetic::Fp8;
  for (const TensorType& operand : call.operands)
    if (is_float(operand.dtype)) return tessera::arithmetic_of(operand.dtype);
  return Arithmetic::Fp32;
}

// The op whose efficiency is taken where one was not measured. A matmul that something joined is
// like a plain one, and so are an expert's and those that make a matrix orthogonal; every optimizer
// is one pass over its states.
std::optional<OpKind> similar_op(OpKind op) {
  const OpKind measured = optimizers().front().op;
  if (op == OpKind::expert_matmul_dw_fp8) return OpKind::expert_matmul_dw;
  if (op == OpKind::expert_matmul_dw || op == OpKind::expert_matmul_fp8)
    return OpKind::expert_matmul;
  if (op == OpKind::expert_matmul) return OpKind::matmul;
  if (is_contraction(op) && op != OpKind::matmul) return OpKind::matmul;
  if (op == OpKind::orthogonalize) return OpKind::matmul;
  return op != measured && find_optimizer(op) ? std::optional(measured) : std::nullopt;
}

double best_of(const EfficiencyTable& table) {
  return std::ranges::max_element(table.points, {}, &EfficiencyPoint::efficiency)->efficiency;
}

}  // namespace

std::array<double, 3> kernel_size(const OpCall& call) {
  if (is_contraction(call.op)) {
    const Contraction c = contraction_of(call.operand(0), call.operand(1));
    return {static_cast<double>(c.m), static_cast<double>(c.n), static_cast<double>(c.k)};
  }
  const auto size = [](int64_t m, int64_t n, int64_t k) -> std::array<double, 3> {
    return {static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)};
  };
  if (call.op == OpKind::expert_matmul) {
    const ExpertContraction c = expert_contraction_of(call.operand(0), call.operand(1));
    return size(c.rows / c.experts, c.n, c.k);
  }
  if (call.op == OpKind::expert_matmul_dw)
    return size(row_size(call.operand(0)), row_size(call.operand(1)),
                pool_rows(call.operand(0)) / call.operand(0).dims[0].size);
  if (is_experts_fp8(call.op)) {
    const bool dw = call.op == OpKind::expert_matmul_dw_fp8;
    const ExpertFp8Product p = expert_fp8_product(call.operands, dw);
    const int64_t own = p.rows / p.experts;
    return dw ? size(p.first.rows, p.second.rows, own) : size(own, p.second.rows, p.first.k);
  }
  if (call.op == OpKind::orthogonalize) {  // the largest matrix, which is the first
    const std::string_view views = call.attributes.word("matrices");
    const NewtonSchulz largest(parse_matrix_view(views.substr(0, views.find('+'))));
    return size(largest.m, largest.n, largest.m);
  }
  const Cost cost = cost_of_call(call);
  const bool scalar = call.operands.empty() || call.operand(0).dims.empty();
  return {static_cast<double>(cost.flops), static_cast<double>(cost.bytes),
          scalar ? 1 : static_cast<double>(call.operand(0).dims.back().size)};
}

double interpolate(const std::vector<EfficiencyPoint>& points, const std::array<double, 3>& size) {
  TESSERA_CHECK(!points.empty());
  constexpr size_t kNearest = 4;
  std::vector<std::pair<double, double>> near;  // squared distance, log of efficiency
  for (const EfficiencyPoint& point : points) {
    double squared = 0;
    for (size_t i = 0; i < size.size(); ++i) {
      const double apart = std::log1p(size[i]) - std::log1p(point.size[i]);
      squared += apart * apart;
    }
    near.emplace_back(squared, std::log(point.efficiency));
  }
  std::sort(near.begin(), near.end());
  near.resize(std::min(near.size(), kNearest));
  constexpr double kSame = 1e-6;  // keeps a point's own weight finite
  double sum = 0, weights = 0;
  for (const auto& [squared, efficiency] : near) {
    const double weight = 1 / (squared + kSame);
    sum += weight * efficiency;
    weights += weight;
  }
  return std::exp(sum / weights);
}

KernelCost::KernelCost(const Cluster& cluster, RankLoad load) : cluster_(cluster), load_(load) {
  const int cores = cluster.device.cores;
  if (cores == 0) return;
  const int threads = std::max(1, load.threads);
  busy_ranks_ = std::clamp(cores / threads, 1, load.ranks);
  time_share_ = std::max(1.0, static_cast<double>(load.ranks * threads) / cores);
  if (load.ranks == 1) time_share_ = 1;  // only its own threads, which the tables include
}

double KernelCost::rank_peak(Arithmetic arithmetic) const {
  const ClusterDevice& device = cluster_.device;
  const int cores = device.cores == 0 ? 1 : std::min(load_.threads, device.cores);
  return device.peak(arithmetic) * cores;
}

double KernelCost::total_peak(Arithmetic arithmetic) const {
  const ClusterDevice& device = cluster_.device;
  if (device.cores == 0) return device.peak(arithmetic) * load_.ranks;
  return device.peak(arithmetic) * std::min(device.cores, load_.ranks * load_.threads);
}

double KernelCost::roofline_seconds(const OpCall& call) const {
  const Cost cost = cost_of_call(call);
  const double flop_seconds = static_cast<double>(cost.flops) / rank_peak(arithmetic_of(call));
  const double byte_seconds =
      static_cast<double>(cost.bytes) / cluster_.device.memory_bandwidth.value;
  return std::max(flop_seconds, byte_seconds);
}

bool KernelCost::is_bound_by_flops(const OpCall& call) const {
  const Cost cost = cost_of_call(call);
  return static_cast<double>(cost.flops) / rank_peak(arithmetic_of(call)) >
         static_cast<double>(cost.bytes) / cluster_.device.memory_bandwidth.value;
}

std::string_view KernelCost::kernel_of(std::optional<OpKind> op) const {
  const bool attention = op == OpKind::attention || op == OpKind::attention_grad;
  return attention ? std::string_view(load_.attention.kernel) : "";
}

// The table whose number of threads, then of busy ranks, is nearest.
const EfficiencyTable& KernelCost::table_of(std::optional<OpKind> op) const {
  const EfficiencyTable* best = nullptr;
  std::tuple<int, int> least;
  for (const EfficiencyTable& table : cluster_.efficiencies) {
    if (table.op != op || table.kernel != kernel_of(op)) continue;
    const auto apart = [](int own, int tables) { return tables == 0 ? 0 : std::abs(own - tables); };
    const std::tuple distance{apart(load_.threads, table.threads),
                              apart(busy_ranks_, table.busy_ranks)};
    if (best == nullptr || distance < least) {
      best = &table;
      least = distance;
    }
  }
  if (best != nullptr) return *best;
  TESSERA_CHECK(op, "cluster {} has no efficiency of other ops", cluster_.name);
  return table_of(similar_op(*op));
}

double KernelCost::efficiency(const OpCall& call) const {
  const EfficiencyTable& table = table_of(call.op);
  std::array<double, 3> size = kernel_size(call);
  // Experts fill a device together: one of them alone would be taken for a small matmul.
  if (multiplies_for_experts(call.op) && table.op == OpKind::matmul) {
    const bool dw = call.op == OpKind::expert_matmul_dw || call.op == OpKind::expert_matmul_dw_fp8;
    size[dw ? 2 : 0] *= static_cast<double>(call.result(0).dims[0].size);
  }
  return interpolate(table.points, size);
}

double KernelCost::curve_seconds(const EfficiencyCurve& curve, const OpCall& call) const {
  const Cost cost = cost_of_call(call);
  if (cost.flops == 0 && cost.bytes == 0) return 0;
  const double inner = std::max(1.0, kernel_size(call)[2]);
  // A sum over microbatches, in fp32, is read before it is written.
  const bool sums = is_contraction(call.op) && call.result(0).dtype == DType::Fp32 &&
                    call.operand(0).dtype != DType::Fp32;
  const double bytes =
      static_cast<double>(cost.bytes) + (sums ? static_cast<double>(call.result(0).bytes()) : 0);
  return static_cast<double>(cost.flops) * (1 + curve.narrow / inner) /
             (curve.ceiling * rank_peak(arithmetic_of(call))) +
         bytes / (curve.memory * cluster_.device.memory_bandwidth.value) + curve.fill_seconds;
}

// Products as other products; what is between them is bound by memory.
double KernelCost::unfused_seconds(const UnfusedCost& cost, Arithmetic arithmetic) const {
  const EfficiencyTable& matmul = table_of(OpKind::matmul);
  const double bandwidth = cluster_.device.memory_bandwidth.value;
  const double flops = static_cast<double>(cost.flops) / rank_peak(arithmetic);
  const double bytes = static_cast<double>(cost.product_bytes) / bandwidth;
  const double products = matmul.curve
                              ? flops / matmul.curve->ceiling + bytes / matmul.curve->memory
                              : std::max(flops / best_of(matmul), bytes / memory_share());
  return products + static_cast<double>(cost.other_bytes) / (memory_share() * bandwidth);
}

double KernelCost::work_seconds(const OpCall& call) const {
  const bool attention = call.op == OpKind::attention || call.op == OpKind::attention_grad;
  if (attention && load_.attention.unfused())
    return unfused_seconds(unfused_cost(call, load_.attention), arithmetic_of(call));
  if (const auto& curve = table_of(call.op).curve) return curve_seconds(*curve, call);
  const double roofline = roofline_seconds(call);
  return roofline > 0 ? roofline / efficiency(call) : 0;
}

// Of kernels that are part of ours: each reads and writes the results. Updates are fused elsewhere,
// too.
double KernelCost::passes_seconds(const OpCall& call) const {
  if (load_.extra_passes == 0 || find_optimizer(call.op)) return 0;
  return load_.extra_passes * 2 * static_cast<double>(bytes_of(call.results)) /
         (memory_share() * cluster_.device.memory_bandwidth.value);
}

// Bias, activation and sum as a kernel of their own: it reads and writes what the product wrote.
double KernelCost::unjoined_seconds(const OpCall& call) const {
  if (load_.joins || call.op != OpKind::matmul_epilogue) return 0;
  return 2 * static_cast<double>(call.result(0).bytes()) /
         (memory_share() * cluster_.device.memory_bandwidth.value);
}

// Logits in memory are computed once; ours, of a vocabulary in shards, twice.
double KernelCost::with_logits(double work, const OpCall& call) const {
  if (load_.loss.passing == 0) return work;
  if (call.op == OpKind::sharded_loss_grad) work *= 2.0 / 3;
  return work + moved_logits(call) * load_.loss.passing /
                    (memory_share() * cluster_.device.memory_bandwidth.value);
}

double KernelCost::memory_share() const {
  const EfficiencyTable& other = table_of({});
  return other.curve ? other.curve->memory : best_of(other);
}

double KernelCost::seconds(const OpCall& call) const {
  double work = with_logits(work_seconds(call), call) + passes_seconds(call) +
                unjoined_seconds(call) + memory_seconds(moved_by_layer(load_.layer, call));
  if (load_.cool && is_bound_by_flops(call)) work /= cluster_.device.cool_gain.value;
  return (work + cluster_.device.launch_seconds.value) * time_share_;
}

double KernelCost::memory_seconds(double bytes) const {
  if (bytes == 0) return 0;
  return bytes / (memory_share() * cluster_.device.memory_bandwidth.value);
}

double KernelCost::copy_seconds(int64_t bytes) const {
  const double work = static_cast<double>(bytes) / cluster_.device.memory_bandwidth.value;
  return (work + cluster_.device.launch_seconds.value) * time_share_;
}

}  // namespace tessera
