// SPDX-License-Identifier: Apache-2.0
#include "train/agreement.h"

#include <algorithm>
#include <array>
#include <vector>

#include "comm/failure/peer_error.h"
#include "comm/reduce_words.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr std::string_view kName = "agree on the next step";

// The first rank that is not where most are.
[[noreturn]] void throw_other_step(Communicator& job, int32_t step) {
  std::vector<int32_t> steps(static_cast<size_t>(job.size()), -1);
  steps[static_cast<size_t>(job.rank())] = step;
  reduce_words(job, steps, Reduction::Max, kName);
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

Agreement agree_on_next_step(Communicator* job, int64_t step, Agreement mine) {
  if (!job) return mine;
  const auto word = static_cast<int32_t>(step);
  std::array<int32_t, 4> words{mine.stop ? 1 : 0, mine.save ? 1 : 0, word, -word};
  reduce_words(*job, words, Reduction::Max, kName);
  if (words[2] != -words[3]) throw_other_step(*job, word);
  return {.stop = words[0] != 0, .save = words[1] != 0};
}

}  // namespace tessera
