// SPDX-License-Identifier: Apache-2.0
// The files in /dev/shm through which ranks of one machine talk under Open MPI. Its daemons remove
// them when a job ends, and nobody does when mpirun is killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace tessera {

// The number of the job that a living rank of mpirun belongs to; nothing for other processes.
std::optional<uint32_t> open_mpi_job_of(pid_t rank);

// For a job of which no rank is alive. Others' files are never touched: a name has the job's
// number.
void remove_open_mpi_segments(uint32_t job, const std::filesystem::path& folder = "/dev/shm");

}  // namespace tessera
