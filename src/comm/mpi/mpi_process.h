// SPDX-License-Identifier: Apache-2.0
// This process as one rank of an MPI job. Built from mpi_process.cpp where MPI is installed and
// from no_mpi.cpp where not; nothing outside this folder sees mpi.h.
#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"
#include "comm/mpi/mpi_options.h"

namespace tessera {

bool built_with_mpi();
// Whether mpirun, mpiexec or srun started this process as one of several.
bool launched_by_mpi();

class MpiEngine;

// One per process: MPI can be started once.
class MpiProcess {
 public:
  MpiProcess();
  ~MpiProcess();
  MpiProcess(const MpiProcess&) = delete;
  MpiProcess& operator=(const MpiProcess&) = delete;

  int rank() const;
  int size() const;
  // Runs body on every rank of the job and returns when all have ended. Throws what body threw, or
  // PeerError when another rank failed; `report` is called with it before the others learn of it.
  void run(const std::function<void(RankWorld&)>& body, const MpiOptions& options = {},
           const std::function<void(const std::exception&)>& report = {});
  // False once a rank no longer answers: MPI cannot be ended in order then.
  bool all_ranks_answer() const;
  // Whether the round failed by what its ranks were given, whichever of them found that out.
  bool had_bad_input() const;

 private:
  std::unique_ptr<MpiEngine> engine_;
};

// For programs: runs body as this process's rank. What it throws is printed, and ends the process
// once the other ranks have printed theirs.
void run_mpi_rank(const std::function<void(RankWorld&)>& body, const MpiOptions& options = {});

}  // namespace tessera
