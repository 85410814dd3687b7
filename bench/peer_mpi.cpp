// SPDX-License-Identifier: Apache-2.0
// The peer of all_reduce: MPI_Allreduce of fp32 in place, warmed up, timed between two barriers.
// Compiled by bench/mesh.py. Arguments: bytes, calls. Prints one JSON object on the first rank.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) {
    std::fprintf(stderr, "error: give bytes and calls\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  std::vector<float> values(std::strtoul(argv[1], nullptr, 10) / sizeof(float), 0.0f);
  const int calls = std::atoi(argv[2]), warm_up = 2;
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double begin = 0;
  for (int call = -warm_up; call < calls; ++call) {
    if (call == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      begin = MPI_Wtime();
    }
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = (MPI_Wtime() - begin) / calls;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  int word_end = 0;
  while (version[word_end] != '\0' && version[word_end] != ',') ++word_end;
  if (rank == 0)
    std::printf("{\"peer\": \"%.*s\", \"ranks\": %d, \"bytes\": %zu, \"seconds\": %.9f}\n",
                word_end, version, ranks, values.size() * sizeof(float), seconds);
  MPI_Finalize();
}
