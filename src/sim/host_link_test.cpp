// SPDX-License-Identifier: Apache-2.0
// Copies between device and host in a simulated step: what hides them, and what they wait for.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "core/error.h"
#include "exec/testing/small_models.h"
#include "sim/simulate.h"
#include "sim/testing/toy_cluster.h"

namespace tessera {
namespace {

constexpr int64_t kBytes = 400;

Cluster with_host(double bandwidth, double both_ways) {
  Cluster cluster = toy_cluster();
  cluster.host = HostLink{.bandwidth = {bandwidth, "toy"},
                          .both_ways = {both_ways, "toy"},
                          .memory_bytes = {1e9, "toy"},
                          .memory_bandwidth = {1e9, "toy"},
                          .devices = 1};
  return cluster;
}

// Two copies that are both started before either is waited for.
double two_copies(MemorySpace first, MemorySpace second, const Cluster& cluster) {
  Program program;
  program.classes.push_back({.name = "only", .buffers = {}, .routines = {}});
  program.blocks.push_back({.name = "only", .offsets = {}, .repeats = {}});
  std::vector<Instruction>& routine = program.classes.front().routine(RoutineKind::Forward);
  const auto buffer = [&](MemorySpace space) {
    std::vector<Buffer>& all = program.classes.front().buffers;
    all.push_back({.name = "b",
                   .type = {DType::Fp32, {{"x", kBytes / 4}}},
                   .lifetime = Lifetime::Slot,
                   .space = space});
    program.blocks.front().offsets.push_back(static_cast<int64_t>(all.size()) * kBytes);
    program.blocks.front().repeats.push_back(Repeat::Once);
    return static_cast<int>(all.size()) - 1;
  };
  std::vector<int> outputs;
  for (const MemorySpace to : {first, second}) {
    const bool to_host = to == MemorySpace::Host;
    const int input = buffer(to_host ? MemorySpace::Device : MemorySpace::Host);
    outputs.push_back(buffer(to));
    routine.push_back(
        {.what = CopyInstruction{.input = input, .output = outputs.back(), .async = true}});
  }
  for (const int output : outputs)
    routine.push_back({.what = WaitInstruction{.held = {output}, .output = output}});
  program.scripts.push_back(
      {.name = "train_step", .calls = {{.routine = RoutineKind::Forward, .accumulate = {}}}});
  return simulate({&program, 1}, cluster, {}).step_seconds;
}

TEST(HostLink, CopiesOfOneDirectionQueue) {
  EXPECT_DOUBLE_EQ(two_copies(MemorySpace::Host, MemorySpace::Host, with_host(400, 800)), 2);
}

TEST(HostLink, BothDirectionsRunBesideEachOtherAsFarAsTheLinkCarriesBoth) {
  EXPECT_DOUBLE_EQ(two_copies(MemorySpace::Host, MemorySpace::Device, with_host(400, 800)), 1);
  // At half of its rate while the first is under way, alone after that.
  EXPECT_DOUBLE_EQ(two_copies(MemorySpace::Host, MemorySpace::Device, with_host(400, 400)), 1.5);
}

Program offloaded(std::string_view offload) {
  SmallModel model = small_model("Llama");
  model.config.layers = 6;
  return compile(
             model.build(DType::Bf16, 2),
             {.plan = make_plan({.mesh = {}, .offload = parse_offload(offload)}, {.kv_heads = 2}),
              .microbatches = 2})
      .program();
}

double seconds(std::string_view offload, double bandwidth) {
  const Program program = offloaded(offload);
  return simulate({&program, 1}, with_host(bandwidth, 2 * bandwidth), {}).step_seconds;
}

TEST(HostLink, ActivationsAreHiddenWhereTheLinkIsFastEnough) {
  const double none = seconds("none", 1);
  EXPECT_NEAR(seconds("activations", 1e9), none, 1e-3 * none);
  EXPECT_GT(seconds("activations", 1), 2 * none);
}

// They leave beside the next block's and come beside the one before, but nothing else is left to
// do.
TEST(HostLink, StatesCostWhatTheLinkTakesForThemOnceEachWay) {
  const double slow = 1, none = seconds("none", slow), with = seconds("moments", slow);
  const auto moved = static_cast<double>(offloaded("moments").host_persistent_bytes);
  EXPECT_GT(with, none + moved / slow);
  EXPECT_LT(with, none + 1.5 * moved / slow);
}

TEST(HostLink, IsSharedByDevicesThatCopyAtOnce) {
  HostLink host{.bandwidth = {50, "toy"},
                .both_ways = {90, "toy"},
                .memory_bytes = {1e9, "toy"},
                .memory_bandwidth = {320, "toy"},
                .devices = 8,
                .link_devices = 2};
  EXPECT_DOUBLE_EQ(host.one_way(1), 50);
  EXPECT_DOUBLE_EQ(host.one_way(2), 25);    // of one link
  EXPECT_DOUBLE_EQ(host.together(64), 40);  // of the host's memory
  EXPECT_DOUBLE_EQ(host.one_way(64), 25);
}

std::string refusal(const std::string& host) {
  const std::string whole = to_toml(with_host(400, 800));
  const size_t begin = whole.find("\n[host]"), end = whole.find("\n[[level]]");
  try {
    parse_cluster(whole.substr(0, begin) + host + whole.substr(end), "toy.toml");
  } catch (const UserError& error) {
    return error.message();
  }
  return "accepted";
}

TEST(HostLink, OfAFileReadsBackAndIsChecked) {
  const Cluster cluster = with_host(400, 700);
  EXPECT_EQ(to_toml(parse_cluster(to_toml(cluster), "toy.toml")), to_toml(cluster));
  EXPECT_EQ(refusal(""), "accepted");
  EXPECT_EQ(refusal("\n[host]\nbandwidth = { value = 4, source = \"toy\" }\ndevices = 1\n"),
            "[host] has no both_ways, memory_bytes, memory_bandwidth");
  const std::string figures =
      "memory_bytes = { value = 1, source = \"toy\" }\n"
      "memory_bandwidth = { value = 1, source = \"toy\" }\ndevices = 1\n";
  EXPECT_EQ(refusal("\n[host]\nbandwidth = { value = 4, source = \"toy\" }\n"
                    "both_ways = { value = 9, source = \"toy\" }\n" +
                    figures),
            "both_ways is 9 and bandwidth 4: it must be between that and twice that");
}

}  // namespace
}  // namespace tessera
