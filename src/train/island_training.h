// SPDX-License-Identifier: Apache-2.0
// Trains all islands of a config as threads of this process: each is a run of its own in
// out/island-N, on its share of every batch, and they exchange weights through a LocalIslands.
#pragma once

#include "train/trainer.h"

namespace tessera {

// Where island n of a run keeps its files.
std::filesystem::path island_folder(const std::filesystem::path& out, int island);

// `options` are those of a run in this process: it has no world. The summary is of all islands.
TrainSummary train_islands(const Config& config, const TrainerOptions& options);

// One island of those whose hub config.islands.hub names, or of those of this process.
Config config_of_island(const Config& config, int island);

}  // namespace tessera
