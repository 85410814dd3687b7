// SPDX-License-Identifier: Apache-2.0
// What one rank was doing when a run failed, and the failure report that those of all ranks make
// together: who waits for whom, where, and since when. Each backend gathers them in its own way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/failure/collective_record.h"

namespace tessera {

struct RankReport {
  struct Wait {
    int rank = 0;         // for whom
    std::string in = {};  // "all_reduce #12 grad(w1) (8 x fp32, sum) over dp"
    double seconds = 0;
  };
  std::string life = "runs";  // what became of it: "is stopped (process 12)"
  bool halted = false;        // it cannot continue, whatever it waits for
  int64_t step = -1;          // -1: none yet
  std::vector<Wait> waits = {};
  std::string where = {};              // "after all_reduce #12 grad(w1)"; empty before the first
  std::vector<std::string> last = {};  // its last collectives, newest first
};

// From its record, in any process that can read it.
RankReport make_report(const CollectiveRecord& record, int64_t step);

// Along who waits for whom, from `silent`: the first rank that waits for nobody or is halted; where
// all wait in a circle, the one that most ranks wait for. `asking` is none of them.
int first_to_blame(std::span<const RankReport> ranks, int silent, int asking);
// "which is stopped (process 123), at step 7, after all_reduce #12 grad(w1)"
std::string doing(const RankReport& rank);
// Several lines, a part for each rank.
std::string to_text(std::span<const RankReport> ranks);

// failure.txt in a run's folder: why the run failed, and what each of its ranks was doing.
// Says on stderr where it is, or why it is not: what failed before matters more.
void write_failure_file(const std::filesystem::path& run, std::string_view cause,
                        std::span<const RankReport> ranks);

}  // namespace tessera
