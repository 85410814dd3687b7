// SPDX-License-Identifier: Apache-2.0
#include "tessera/train.h"

#include "comm/mpi/mpi_process.h"
#include "config/island_config.h"
#include "train/island_training.h"
#include "train/launch_fingerprint.h"

namespace tessera {
namespace {

// As threads of this process.
TrainSummary train_all_islands(const Config& config, const TrainerOptions& options) {
  if (!config.islands.hub.empty() || launched_by_mpi())
    throw user_error("mesh {} has islands, which here are threads of one process",
                     to_string(Mesh(config.mesh)))
        .at("mesh.island")
        .help("leave out islands.hub and mpirun");
  return train_islands(config, options);
}

}  // namespace

TrainSummary train(Config config, TrainerOptions options) {
  if (islands_of(config) > 0) return train_all_islands(config, options);
  if (!launched_by_mpi()) return Trainer(std::move(config), std::move(options)).run();
  const StopSignal signals;  // also while ranks meet and part
  TrainSummary summary;
  run_mpi_rank(
      [&](RankWorld& world) {
        if (config.mesh.empty()) config.mesh = {{"dp", world.size()}};
        require_identical_launch(world, fingerprint_launch(to_toml(config)));
        options.world = &world;
        summary = Trainer(config, options).run();
      },
      {.deadline_seconds = config.run.deadline_seconds,
       .run_folder = config.run.out,
       .told_to_end = StopSignal::told_to_end});
  return summary;
}

}  // namespace tessera
