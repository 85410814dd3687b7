// SPDX-License-Identifier: Apache-2.0
// Training: `train` for one config, `Trainer` for who wants the parts. Both write the run's folder
// (metrics, config, checkpoints) and resume from it.
#pragma once

#include "config/run_spec.h"
#include "train/trainer.h"

namespace tessera {

// All ranks of the config's mesh as threads of this process; started by mpirun or srun, this
// process's rank of the job. A mesh that is not given is then dp over all processes.
TrainSummary train(Config config, TrainerOptions options = {});

}  // namespace tessera
