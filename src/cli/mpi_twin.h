// SPDX-License-Identifier: Apache-2.0
// Packages have two programs: tessera, and tessera-mpi, which is built with MPI.
#pragma once

namespace tessera {

// Where mpirun or srun started a program without MPI and one with MPI lies beside it, becomes that
// one; else returns.
void become_mpi_twin(char** words);

}  // namespace tessera
