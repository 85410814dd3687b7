// SPDX-License-Identifier: Apache-2.0
#include "verify/router_margin.h"

#include <gtest/gtest.h>

#include "config/config.h"
#include "verify/verify_plan.h"

namespace tessera {
namespace {

RunSpec spec_of(std::vector<std::string> settings) {
  settings.insert(settings.begin(), "model.preset=tiny-moe");
  RunSpec spec = resolve_shrunk(load_config(std::nullopt, settings));
  spec.precision = DType::Fp64;
  return spec;
}

TEST(RouterMargin, IsFoundInAModelWithRoutersAndFarFromATie) {
  const VerifyReport report = verify_plan(spec_of({"mesh=ep=2"}), {});
  EXPECT_TRUE(report.equal());
  EXPECT_TRUE(report.router.known());
  EXPECT_GT(report.router.gap, 1e-6);
  EXPECT_TRUE(report.router.place.starts_with("layer.")) << report.router.place;
}

TEST(RouterMargin, IsUnknownWithoutRouters) {
  RunSpec spec = spec_of({"mesh=dp=2"});
  spec.model.experts = 0;
  const VerifyReport report = verify_plan(spec, {});
  EXPECT_FALSE(report.router.known());
  EXPECT_FALSE(report.undecided());
}

// All scores are equal: which experts are chosen is a matter of rounding, if anything.
TEST(RouterMargin, OfATieMakesADifferenceUndecided) {
  RunSpec spec = spec_of({"mesh=ep=2"});
  spec.model.init_deviation = 0;
  VerifyOptions options{.steps = 1};
  VerifyReport report = verify_plan(spec, options);
  EXPECT_EQ(report.router.gap, 0);
  EXPECT_TRUE(report.equal());
  EXPECT_FALSE(report.undecided()) << "nothing differs";
  report.loss.error = 1;
  EXPECT_TRUE(report.undecided());
}

}  // namespace
}  // namespace tessera
