// SPDX-License-Identifier: Apache-2.0
// Stands in for MPI where it was not found: says so when it is asked for.
#include "comm/mpi/mpi_process.h"

namespace tessera {

class MpiEngine {};

bool built_with_mpi() { return false; }

MpiProcess::MpiProcess() {
  throw user_error("this tessera was built without MPI")
      .help(
          "install the package tessera-mpi, or openmpi-bin and libopenmpi-dev (tools/setup.sh mpi) "
          "and build again");
}
MpiProcess::~MpiProcess() = default;
int MpiProcess::rank() const { return 0; }
int MpiProcess::size() const { return 1; }
void MpiProcess::run(const std::function<void(RankWorld&)>& /*body*/, const MpiOptions& /*options*/,
                     const std::function<void(const std::exception&)>& /*report*/) {}
bool MpiProcess::all_ranks_answer() const { return true; }
bool MpiProcess::had_bad_input() const { return false; }

void run_mpi_rank(const std::function<void(RankWorld&)>& /*body*/, const MpiOptions& /*options*/) {
  const MpiProcess process;
}

}  // namespace tessera
