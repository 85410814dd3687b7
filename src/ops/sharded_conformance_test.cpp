// SPDX-License-Identifier: Apache-2.0
// Runs every sample of every op that a model or a pass writes for one device, under every placement
// that the op's rule permits: the assembled results of the ranks must equal those of one device.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/op_list.h"
#include "ops/testing/sharded_case.h"

namespace tessera {
namespace {

// The same sums in another order.
constexpr double kTolerance = 1e-12;

// max|a - b| / max|b|, where infinities that are equal differ by nothing.
double difference(const HostTensor& a, const HostTensor& b) {
  double worst = 0, largest = 0;
  for (int64_t i = 0; i < b.size(); ++i) {
    if (std::isfinite(b.at(i))) largest = std::max(largest, std::abs(b.at(i)));
    if (a.at(i) == b.at(i)) continue;
    if (!std::isfinite(a.at(i)) || !std::isfinite(b.at(i))) return INFINITY;
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
  }
  return worst == 0 ? 0 : worst / largest;
}

class ShardedOp : public testing::TestWithParam<ConformanceCase> {
 protected:
  // Terms of a pending sum are rounded one by one if the result is narrow.
  double tolerance(const ShardedCase& sharded, DType result) const {
    const bool narrow = result == DType::Bf16 || result == DType::Fp32;
    if (sharded.pending.empty() || !narrow) return kTolerance;
    return result == DType::Bf16 ? GetParam().sample.tolerance_bf16
                                 : GetParam().sample.tolerance_fp32;
  }

  void check(const ShardedCase& sharded) {
    const SampleCall call =
        sample_call(GetParam().op, grown(GetParam().sample, sharded.plan), DType::Fp64);
    const std::vector<HostTensor> expected = run_kernel(call);
    const std::vector<JoinedResult> results = run_sharded(call, sharded);
    for (size_t i = 0; i < results.size(); ++i)
      for (const HostTensor& copy : results[i].copies)
        EXPECT_LE(difference(copy, expected[i]), tolerance(sharded, expected[i].type().dtype))
            << "result " << i << " " << to_string(expected[i].type());
  }
};

TEST_P(ShardedOp, EqualsUnshardedUnderEveryPlacementItsRulePermits) {
  const SampleCall call = sample_call(GetParam().op, GetParam().sample, DType::Fp64);
  for (const ShardedCase& sharded : permitted_placements(call)) {
    SCOPED_TRACE(fmt::format("{} ({}), {}", name(GetParam().op), GetParam().sample.name,
                             to_string(sharded, GetParam().op)));
    try {
      check(sharded);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// Ops that localize inserts are already for one rank.
bool is_sharded(const ConformanceCase& c) {
  return !op_def(c.op).communicates && c.op != OpKind::take_shard && c.op != OpKind::take_piece &&
         c.op != OpKind::join_pieces;
}

INSTANTIATE_TEST_SUITE_P(OpConformance, ShardedOp, testing::ValuesIn(conformance_cases(is_sharded)),
                         case_name);

}  // namespace
}  // namespace tessera
