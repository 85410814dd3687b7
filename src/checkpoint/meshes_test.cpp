// SPDX-License-Identifier: Apache-2.0
// Any mesh can load what any other has saved.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/small_machine.h"
#include "comm/local/run_ranks.h"
#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

using Overrides = std::vector<std::string>;

const std::vector<Overrides>& meshes() {
  static const std::vector<Overrides> all{
      {},
      {"mesh=dp=2,tp=2"},
      {"mesh=cp=2"},
      {"mesh=fsdp=4", "plan.zero=3", "train.microbatches=1"},
      {"mesh=fsdp=2,cp=2", "plan.shard_axes=fsdp,cp"},
      {"mesh=ep=2", "plan.zero=1"},
      {"mesh=ep=4", "plan.zero=3", "train.microbatches=1"},
      {"mesh=fsdp=2", "plan.offload=parameters"},
      {"mesh=dp=2", "plan.zero=1", "plan.offload=states", "plan.offload_update=host"},
      {"mesh=pp=2", "plan.schedule=zb_h1"},
      {"mesh=pp=3,tp=2"},
      {"mesh=pp=2,fsdp=2", "plan.zero=2"},
      {"mesh=dp=2,fsdp=2,tp=2", "plan.zero=1", "plan.sequence_parallel=true",
       "train.microbatches=1"}};
  return all;
}

// Of a mixture: experts rest over other axes than all else.
const std::vector<Overrides>& meshes_of_experts() {
  static const std::vector<Overrides> all = [] {
    std::vector<Overrides> meshes{{},
                                  {"mesh=ep=2", "plan.zero=1"},
                                  {"mesh=ep=4", "plan.zero=3", "train.microbatches=1"},
                                  {"mesh=fsdp=2,ep=2", "plan.zero=3", "train.microbatches=1"},
                                  {"mesh=ep=2,tp=2", "plan.experts=ep+tp"},
                                  {"mesh=pp=2,tp=2"}};
    for (Overrides& mesh : meshes)
      for (const char* setting : {"model.preset=tiny-moe", "model.shared_mlp_size=64",
                                  "model.dense_layers=1", "model.balance_rate=0.01"})
        mesh.emplace_back(setting);
    return meshes;
  }();
  return all;
}

std::string name_of(const Overrides& mesh) {
  return mesh.empty() || !mesh.front().starts_with("mesh=") ? "1" : mesh.front();
}

// Over all ranks, how often each element of a state is owned.
void expect_one_owner_of_every_element(const std::vector<Overrides>& meshes) {
  for (const Overrides& mesh : meshes) {
    SmallMachine machine(mesh);
    std::map<std::string, std::vector<int>> owners;
    for (const RankStates* rank : machine.executor().rank_states())
      for (const OwnedPiece& owned : owned_pieces(rank->program(), rank->rank())) {
        auto& counts = owners[owned.state->name];
        counts.resize(static_cast<size_t>(owned.state->type.num_elements()));
        for (const Stretch& stretch : stretches_of(shape_of(owned.state->type), owned.piece))
          for (int64_t i = 0; i < stretch.count; ++i)
            ++counts[static_cast<size_t>(stretch.element + i)];
      }
    ASSERT_EQ(owners.size(), machine.executor().program().states.size()) << name_of(mesh);
    for (const auto& [name, counts] : owners)
      for (const int count : counts) ASSERT_EQ(count, 1) << name_of(mesh) << " " << name;
  }
}

TEST(CheckpointMeshes, EveryElementIsWrittenByExactlyOneRank) {
  expect_one_owner_of_every_element(meshes());
  expect_one_owner_of_every_element(meshes_of_experts());
}

void expect_each_loads_what_each_saved(const std::vector<Overrides>& meshes) {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<SmallMachine>> machines;
  for (const Overrides& mesh : meshes) machines.push_back(std::make_unique<SmallMachine>(mesh));
  for (size_t from = 0; from < machines.size(); ++from) {
    SmallMachine& saver = *machines[from];
    for (int step = 1; step <= 2; ++step) saver.train_step(step);
    const SaveOutcome outcome = save(saver, {.folder = folder.path() / std::to_string(from)}, 2);
    ASSERT_TRUE(outcome.saved) << outcome.error;
    const auto saved = saver.states();
    // The second of them follows from moments and step too.
    const std::array<double, 2> next{saver.train_step(3), saver.train_step(4)};
    const Checkpoint checkpoint(outcome.path);
    checkpoint.verify();
    for (size_t to = 0; to < machines.size(); ++to) {
      SmallMachine& loader = *machines[to];
      checkpoint.load_states(loader.executor());
      ASSERT_EQ(loader.states(), saved) << name_of(meshes[from]) << " " << name_of(meshes[to]);
      for (size_t i = 0; i < next.size(); ++i)
        EXPECT_NEAR(loader.train_step(3 + static_cast<int64_t>(i)), next[i], 1e-5 * next[i])
            << name_of(meshes[from]) << " " << name_of(meshes[to]) << " loss " << i;
    }
  }
}

TEST(CheckpointMeshes, EachLoadsWhatEachSavedBitForBitAndGoesOn) {
  expect_each_loads_what_each_saved(meshes());
}

TEST(CheckpointMeshes, ExpertsAreLoadedOnAnyNumberOfRanksThatShareThem) {
  expect_each_loads_what_each_saved(meshes_of_experts());
}

TEST(CheckpointMeshes, ReplicasOfATiedTableAreLoadedOnEveryStage) {
  const TemporaryFolder folder;
  SmallMachine one({}), two({"mesh=pp=2"});
  one.train_step(1);
  const Checkpoint checkpoint(save(one, {.folder = folder.path()}, 1).path);
  checkpoint.load_states(two.executor());
  int holders = 0;
  for (RankStates* rank : two.executor().rank_states())
    for (const StateBuffer& state : rank->program().states)
      if (state.name == "embedding.table") {
        ++holders;
        std::vector<std::byte> bytes(static_cast<size_t>(state.type.bytes()));
        rank->read_states(state.place.space, state.place.offset, bytes);
        EXPECT_EQ(bytes, one.states().at("embedding.table"));
      }
  EXPECT_EQ(holders, 2);
}

void expect_a_job_writes_what_threads_write(const Overrides& mesh) {
  SCOPED_TRACE(name_of(mesh));
  const TemporaryFolder folder;
  SmallMachine threads(mesh);
  threads.train_step(1);
  const SaveOutcome whole = save(threads, {.folder = folder.path() / "threads"}, 1);
  ASSERT_TRUE(whole.saved) << whole.error;
  run_ranks(4, [&](RankWorld& world) {
    SmallMachine rank(mesh, &world);
    rank.train_step(1);
    const auto peers = world.everyone("checkpoints");
    const SaveOutcome outcome =
        save(rank, {.folder = folder.path() / "job", .peers = peers.get()}, 1);
    EXPECT_TRUE(outcome.saved) << outcome.error;
  });
  const Checkpoint job(folder.path() / "job" / whole.path.filename());
  job.verify();
  ASSERT_EQ(job.manifest().files.size(), 4u);
  for (const StoredFile& file : job.manifest().files)
    EXPECT_EQ(read_text(job.path() / file.name), read_text(whole.path / file.name)) << file.name;
  EXPECT_EQ(read_text(job.path() / "manifest.json"), read_text(whole.path / "manifest.json"));
}

TEST(CheckpointMeshes, ProcessesOfAJobWriteTheBytesThatThreadsWrite) {
  expect_a_job_writes_what_threads_write({"mesh=pp=2,dp=2"});
  expect_a_job_writes_what_threads_write({"mesh=fsdp=2,cp=2", "plan.shard_axes=fsdp,cp"});
}

TEST(CheckpointMeshes, CopiesShareTheWriting) {
  SmallMachine machine({"mesh=dp=2", "model.width=128", "model.layers=1"});
  std::vector<int64_t> bytes;
  for (const RankStates* rank : machine.executor().rank_states()) {
    bytes.push_back(0);
    for (const OwnedPiece& owned : owned_pieces(rank->program(), rank->rank()))
      bytes.back() += owned.bytes();
  }
  EXPECT_LT(std::abs(bytes[0] - bytes[1]), (bytes[0] + bytes[1]) / 10);
}

}  // namespace
}  // namespace tessera
