// SPDX-License-Identifier: Apache-2.0
#include "studio/simulated_step.h"

#include <gtest/gtest.h>

#include "config/config_fields.h"

namespace tessera {
namespace {

class TpOverlapAuto : public testing::TestWithParam<double> {
 protected:
  // Of a link that is this many times as fast as NVLink.
  SimulatedStep step(const std::string& overlap) const {
    const std::vector<std::string> overrides{"model.preset=llama3-8b",
                                             "model.layers=2",
                                             "mesh.tp=8",
                                             "train.batch=1",
                                             "train.seq=8192",
                                             "train.precision=bf16",
                                             "plan.sequence_parallel=true",
                                             "plan.tp_overlap=" + overlap};
    const Config config = load_config({}, overrides);
    Cluster cluster = load_cluster("dgx-h100");
    cluster.levels.front().bandwidth.value *= GetParam();
    cluster.levels.front().latency_seconds.value /= GetParam();
    return simulate_step(config, cluster, spec_to_simulate(cluster, config), {});
  }
};

TEST_P(TpOverlapAuto, IsTheFasterOfOffAndRing) {
  const SimulatedStep off = step("off"), ring = step("ring"), decided = step("auto");
  EXPECT_DOUBLE_EQ(decided.simulation.step_seconds,
                   std::min(off.simulation.step_seconds, ring.simulation.step_seconds));
  EXPECT_EQ(decided.spec.plan.tp_overlap, ring.simulation.step_seconds < off.simulation.step_seconds
                                              ? TpOverlap::Ring
                                              : TpOverlap::Off);
}

TEST_P(TpOverlapAuto, RingsLeaveLessExposed) {
  EXPECT_LT(step("ring").simulation.times.exposed_communication_seconds,
            step("off").simulation.times.exposed_communication_seconds);
}

INSTANTIATE_TEST_SUITE_P(Links, TpOverlapAuto, testing::Values(0.3, 1.0, 1000.0),
                         [](const auto& instance) {
                           return fmt::format("{:.0f}Percent", 100 * instance.param);
                         });

}  // namespace
}  // namespace tessera
