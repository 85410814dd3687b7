// SPDX-License-Identifier: Apache-2.0
#include "exec/trace_recorder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "compiler/compile.h"
#include "data/synthetic_batch.h"
#include "exec/device.h"
#include "exec/testing/small_models.h"
#include "exec/train_step.h"
#include "program/testing/trace_slices.h"

namespace tessera {
namespace {

nlohmann::json trace_of(std::vector<Axis> mesh, bool odd_names = false) {
  SmallModel model = small_model("Llama");
  model.seq = 8;
  std::vector<Program> programs =
      compile(model.build(DType::Fp32, 4),
              {.plan = make_plan({.mesh = std::move(mesh)}, {.kv_heads = model.config.kv_heads})})
          .programs;
  if (odd_names) give_blocks_odd_names(programs);
  TraceRecorder trace(programs.front().mesh.num_ranks());
  const auto executor = cpu_device()->make_executor(
      std::move(programs),
      {.observer = [&](int rank, const InstructionEvent& event) { trace.observe(rank, event); }});
  initialise_states(*executor, 1);
  write_verification_batch(*executor, 1, {.seed = 1, .vocabulary = model.config.vocabulary});
  run_train_step(*executor, {.learning_rate = 1e-3, .step = 1});
  return nlohmann::json::parse(trace.to_json())["traceEvents"];
}

TEST(TraceRecorder, EveryRankHasKernelsCollectivesAndMemory) {
  const nlohmann::json events = trace_of({{"dp", 2}, {"tp", 2}});
  std::set<int> kernels, collectives, memory;
  for (const auto& event : events) {
    if (event["ph"] == "X" && event["tid"] == 0) kernels.insert(event["pid"].get<int>());
    if (event["ph"] == "X" && event["tid"] > 0) {
      collectives.insert(event["pid"].get<int>());
      EXPECT_GT(event["args"]["bytes"], 0);
    }
    if (event["ph"] == "C") {
      memory.insert(event["pid"].get<int>());
      EXPECT_GT(event["args"]["bytes"], 0);
    }
  }
  const std::set<int> all{0, 1, 2, 3};
  EXPECT_EQ(kernels, all);
  EXPECT_EQ(collectives, all);
  EXPECT_EQ(memory, all);
}

TEST(TraceRecorder, ArrowsLeadFromEverySendToOneReceive) {
  const nlohmann::json events = trace_of({{"cp", 4}});
  const auto sent = arrow_ids(events, "s"), received = arrow_ids(events, "f");
  EXPECT_GT(sent.size(), 0u);
  EXPECT_EQ(sent, received);
  EXPECT_EQ(std::set<std::string>(sent.begin(), sent.end()).size(), sent.size());
}

TEST(TraceRecorder, ArrowsLeadFromStageToStage) {
  const nlohmann::json events = trace_of({{"pp", 2}, {"dp", 2}});
  const auto sent = arrow_ids(events, "s"), received = arrow_ids(events, "f");
  EXPECT_EQ(sent.size(), 4u);  // a stream and a gradient, on two data ranks
  EXPECT_EQ(sent, received);
}

// Slices nest or follow one another, on every track.
TEST(TraceRecorder, SlicesOfOneTrackDoNotOverlap) {
  std::map<std::pair<int, int>, std::vector<nlohmann::json>> tracks;
  for (const auto& event : trace_of({{"dp", 2}, {"tp", 2}}))
    if (event["ph"] == "X")
      tracks[{event["pid"].get<int>(), event["tid"].get<int>()}].push_back(event);
  for (auto& [track, slices] : tracks) {
    // Of two that begin together the longer one is around the other.
    std::stable_sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
      return std::pair(begin_of(a), -end_of(a)) < std::pair(begin_of(b), -end_of(b));
    });
    std::vector<int64_t> open;
    for (const auto& slice : slices) {
      while (!open.empty() && open.back() <= begin_of(slice)) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end_of(slice), open.back()) << slice.dump();
      }
      open.push_back(end_of(slice));
    }
  }
}

TEST(TraceRecorder, EveryKernelIsWithinItsRoutine) {
  expect_kernels_within_routines(trace_of({{"pp", 2}, {"dp", 2}}, /*odd_names=*/true));
}

}  // namespace
}  // namespace tessera
