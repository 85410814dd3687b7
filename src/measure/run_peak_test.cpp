// SPDX-License-Identifier: Apache-2.0
#include "measure/run_peak.h"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

// A machine that measures these, one after the other; a call too many throws.
std::function<double()> measuring(std::vector<double> rates) {
  return [rates, next = size_t{0}]() mutable { return rates.at(next++); };
}

TEST(RunPeak, IsMeasuredOncePerMachineAndKeptForLaterRuns) {
  const TemporaryFolder folder;
  const PeakCache cache(folder.path() / "new");
  RunPeak first(cache, "toy, 2 threads", measuring({50, 90, 70}));
  EXPECT_EQ(first.flops_per_second(), 90);
  EXPECT_EQ(first.flops_per_second(), 90);
  EXPECT_EQ(RunPeak(cache, "toy, 2 threads", measuring({})).flops_per_second(), 90);
  EXPECT_EQ(RunPeak(cache, "toy, 1 thread", measuring({40, 45, 30})).flops_per_second(), 45);
}

TEST(RunPeak, RisesForLaterRunsWhereARunWasFasterAndStandsStillWithinOne) {
  const TemporaryFolder folder;
  const PeakCache cache(folder.path());
  RunPeak run(cache, "toy", measuring({10, 10, 10, 20, 60, 30}));
  EXPECT_EQ(run.flops_per_second(), 10);
  EXPECT_EQ(run.raise_above(50), 60);
  EXPECT_EQ(run.flops_per_second(), 10);
  EXPECT_EQ(cache.find("toy"), 60);
  RunPeak next(cache, "toy", measuring({5, 5, 5}));
  EXPECT_EQ(next.flops_per_second(), 60);
  EXPECT_EQ(next.raise_above(80), 80);
  EXPECT_EQ(cache.find("toy"), 80);
}

TEST(PeakCache, KeepsTheLargest) {
  const TemporaryFolder folder;
  const PeakCache cache(folder.path());
  cache.keep("toy", 30);
  cache.keep("toy", 20);
  EXPECT_EQ(cache.find("toy"), 30);
  EXPECT_EQ(cache.find("other"), std::nullopt);
}

TEST(PeakCache, TakesAFileThatItCannotReadForNone) {
  const TemporaryFolder folder;
  const PeakCache cache(folder.path());
  cache.keep("toy", 30);
  const auto file = std::filesystem::directory_iterator(folder.path())->path();
  for (const char* text :
       {"", "{", "[]", "{\"machine\": \"toy\"}", R"({"machine": "toy", "flops_per_second": "x"})",
        R"({"machine": "toy", "flops_per_second": -1})",
        R"({"machine": "another of the same hash", "flops_per_second": 9})"}) {
    std::ofstream(file) << text;
    EXPECT_EQ(cache.find("toy"), std::nullopt) << text;
  }
  cache.keep("toy", 7);
  EXPECT_EQ(cache.find("toy"), 7);
}

TEST(PeakCache, WithoutAFolderThatItCanWriteKeepsNothing) {
  const TemporaryFolder folder;
  for (const auto& where : {std::filesystem::path(), folder.write("file", "x") / "below"}) {
    const PeakCache cache(where);
    cache.keep("toy", 30);
    EXPECT_EQ(cache.find("toy"), std::nullopt) << where;
  }
}

}  // namespace
}  // namespace tessera
