// SPDX-License-Identifier: Apache-2.0
// The peer of all_reduce: Gloo's of fp32 in place over processes of this machine, warmed up, timed
// between two barriers, in the faster of its two algorithms. Compiled by bench/mesh.py. Arguments:
// ranks, bytes, calls, an empty folder where the ranks meet. Prints one JSON object.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace {

double mean_seconds(gloo::AllreduceOptions& reduce, gloo::BarrierOptions& barrier, int calls) {
  const int warm_up = 2;
  auto begin = std::chrono::steady_clock::now();
  for (int call = -warm_up; call < calls; ++call) {
    if (call == 0) {
      gloo::barrier(barrier);
      begin = std::chrono::steady_clock::now();
    }
    gloo::allreduce(reduce);
  }
  gloo::barrier(barrier);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
}

void run_rank(int rank, int ranks, size_t bytes, int calls, const char* folder) {
  gloo::transport::tcp::attr where;
  where.hostname = "localhost";
  auto device = gloo::transport::tcp::CreateDevice(where);
  gloo::rendezvous::FileStore store(folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  std::vector<float> values(bytes / sizeof(float), 0.0f);
  gloo::AllreduceOptions reduce(context);
  reduce.setOutput(values.data(), values.size());
  reduce.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
  gloo::BarrierOptions barrier(context);
  double best = 0;
  for (const auto algorithm :
       {gloo::AllreduceOptions::Algorithm::RING, gloo::AllreduceOptions::Algorithm::BCUBE}) {
    reduce.setAlgorithm(algorithm);
    const double seconds = mean_seconds(reduce, barrier, calls);
    best = best == 0 ? seconds : std::min(best, seconds);
  }
  if (rank == 0)
    std::printf("{\"peer\": \"Gloo over TCP\", \"ranks\": %d, \"bytes\": %zu, \"seconds\": %.9f}\n",
                ranks, values.size() * sizeof(float), best);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "error: give ranks, bytes, calls and a folder\n");
    return 2;
  }
  const int ranks = std::atoi(argv[1]), calls = std::atoi(argv[3]);
  const size_t bytes = std::strtoul(argv[2], nullptr, 10);
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    try {
      run_rank(rank, ranks, bytes, calls, argv[4]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "error: rank %d: %s\n", rank, error.what());
      std::fflush(nullptr);
      _exit(1);
    }
    std::fflush(nullptr);
    _exit(0);
  }
  int failed = 0, status = 0;
  while (wait(&status) > 0) failed |= status;
  return failed == 0 ? 0 : 1;
}
