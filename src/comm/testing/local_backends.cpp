// SPDX-License-Identifier: Apache-2.0
// Ranks of this machine: as threads on plain memory, as processes on memory that they share, and as
// processes on memory of their own.
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <new>

#include "comm/local/run_ranks.h"
#include "comm/testing/backends.h"

namespace tessera {
namespace {

// Address space; only what is used becomes memory.
constexpr int64_t kArenaBytes = int64_t{512} << 20;

using Body = std::function<void(RankWorld&, const Allocate&)>;

// Plain memory of one rank: what threads may read directly, and ASan can check.
void as_threads(int ranks, double deadline_seconds, const Body& body) {
  std::mutex mutex;
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  const Allocate allocate = [&](int64_t bytes) {
    const std::lock_guard lock(mutex);
    blocks.push_back(std::make_unique<std::byte[]>(static_cast<size_t>(bytes)));
    return blocks.back().get();
  };
  run_ranks(ranks, [&](RankWorld& world) { body(world, allocate); },
            {.deadline_seconds = deadline_seconds});
}

// Of a child, which its parent does not see by itself.
struct CountedExpectations {
  std::atomic<int>& unmet;
  ~CountedExpectations() {
    if (testing::Test::HasFailure()) ++unmet;
  }
};

void run_processes(int ranks, double deadline_seconds, const Body& body, bool shared) {
  LocalHub hub({.ranks = ranks,
                .arena_bytes = kArenaBytes,
                .deadline_seconds = deadline_seconds,
                .processes = true});
  auto* unmet = new (hub.allocate(sizeof(std::atomic<int>))) std::atomic<int>(0);
  std::exception_ptr error;
  try {
    run_ranks(hub, [&](RankWorld& world) {
      const CountedExpectations counted{*unmet};
      std::vector<std::unique_ptr<std::byte[]>> blocks;
      body(world, [&](int64_t bytes) {
        if (shared) return hub.allocate(bytes);
        blocks.push_back(std::make_unique<std::byte[]>(static_cast<size_t>(bytes)));
        return blocks.back().get();
      });
    });
  } catch (...) {
    error = std::current_exception();
  }
  EXPECT_EQ(unmet->load(), 0) << "ranks with expectations that do not hold, see above";
  if (error) std::rethrow_exception(error);
}

void as_processes(int ranks, double deadline_seconds, const Body& body) {
  run_processes(ranks, deadline_seconds, body, true);
}

void as_processes_apart(int ranks, double deadline_seconds, const Body& body) {
  run_processes(ranks, deadline_seconds, body, false);
}

}  // namespace

std::vector<Backend> backends() {
  return {
      {"Threads", as_threads}, {"Processes", as_processes}, {"ProcessesApart", as_processes_apart}};
}

// Within a machine nothing is cut.
std::vector<Backend> backends_with_cut_messages() { return backends(); }

std::vector<int> rank_counts() { return {1, 2, 3, 4, 7, 8}; }

}  // namespace tessera
