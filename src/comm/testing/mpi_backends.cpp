// SPDX-License-Identifier: Apache-2.0
// One rank of an MPI job: the suites run at the job's own size, one after the other.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "comm/mpi/mpi_process.h"
#include "comm/testing/backends.h"

namespace tessera {
namespace {

// Set by main below, before tests are listed.
MpiProcess*& process() {
  static MpiProcess* current = nullptr;
  return current;
}

using Body = std::function<void(RankWorld&, const Allocate&)>;

void run_as_mpi_rank(const MpiOptions& options, const Body& body) {
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  const Allocate allocate = [&](int64_t bytes) {
    blocks.push_back(std::make_unique<std::byte[]>(static_cast<size_t>(bytes)));
    return blocks.back().get();
  };
  process()->run([&](RankWorld& world) { body(world, allocate); }, options);
}

void as_mpi_rank(int /*ranks*/, double deadline_seconds, const Body& body) {
  run_as_mpi_rank({.deadline_seconds = deadline_seconds}, body);
}

void as_mpi_rank_with_cut_messages(int /*ranks*/, double deadline_seconds, const Body& body) {
  run_as_mpi_rank({.deadline_seconds = deadline_seconds, .largest_message_bytes = 5000}, body);
}

}  // namespace

std::vector<Backend> backends() { return {{"Mpi", as_mpi_rank}}; }
std::vector<Backend> backends_with_cut_messages() {
  return {{"Mpi", as_mpi_rank}, {"MpiCut", as_mpi_rank_with_cut_messages}};
}
std::vector<int> rank_counts() { return {process()->size()}; }

}  // namespace tessera

int main(int argc, char** argv) {
  tessera::MpiProcess mpi;
  tessera::process() = &mpi;
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  // For run_mpi_job.sh, which does not rely on mpirun to tell.
  if (const char* folder = std::getenv("TESSERA_RANK_STATUS_DIR"))
    std::ofstream(std::string(folder) + "/" + std::to_string(mpi.rank())) << status << "\n";
  return status;
}
