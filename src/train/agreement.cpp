// SPDX-License-Identifier: Apache-2.0
#include "train/agreement.h"

#include <algorithm>
#include <array>
#include <vector>

#include "comm/failure/peer_error.h"
#include "core/error.h"

namespace tessera {
namespace {

// The first rank that is not where most are.
[[noreturn]] void throw_other_step(Executor& executor, int32_t step) {
  std::vector<int32_t> steps(static_cast<size_t>(executor.program().mesh.num_ranks()), -1);
  for (const RankStates* own : executor.rank_states())
    steps[static_cast<size_t>(own->rank())] = step;
  executor.agree_on_largest(steps);
  std::vector<int32_t> sorted = steps;
  std::sort(sorted.begin(), sorted.end());
  const int32_t usual = sorted[(sorted.size() - 1) / 2];
  const auto odd =
      std::find_if(steps.begin(), steps.end(), [&](int32_t each) { return each != usual; });
  const auto rank = static_cast<int>(odd - steps.begin());
  throw PeerError(rank, fmt::format("rank {} is at step {}, but others are at step {}: they no "
                                    "longer train the same model",
                                    rank, *odd, usual));
}

}  // namespace

Agreement agree_on_next_step(Executor& executor, int64_t step, Agreement mine) {
  const auto word = static_cast<int32_t>(step);
  std::array<int32_t, 4> words{mine.stop ? 1 : 0, mine.save ? 1 : 0, word, -word};
  executor.agree_on_largest(words);
  if (words[2] != -words[3]) throw_other_step(executor, word);
  return {.stop = words[0] != 0, .save = words[1] != 0};
}

}  // namespace tessera
