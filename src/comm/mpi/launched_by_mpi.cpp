// SPDX-License-Identifier: Apache-2.0
// How launchers mark the processes they start.
#include <cstdlib>

#include "comm/mpi/mpi_process.h"

namespace tessera {

bool launched_by_mpi() {
  const auto is_set = [](const char* variable) { return std::getenv(variable) != nullptr; };
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  const bool slurm_step = is_set("SLURM_PROCID") && tasks && std::atoi(tasks) > 1;
  // Open MPI's mpirun, MPICH's mpiexec, and srun.
  return is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMI_RANK") || slurm_step;
}

}  // namespace tessera
