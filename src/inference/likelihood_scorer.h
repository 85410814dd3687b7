// SPDX-License-Identifier: Apache-2.0
// How likely a model finds texts that go on with a context. A context is read once for all of its
// continuations: its keys and values are kept in a planned cache, and each continuation costs its
// own tokens. Scores do not depend on what is scored together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "config/run_spec.h"
#include "exec/executor.h"

namespace tessera {

// Of tokens, which are not empty and not more than the model can see.
struct Continuations {
  std::vector<int32_t> context;
  std::vector<std::vector<int32_t>> texts;

  int64_t longest() const;  // tokens of the longest text
};

struct Likelihood {
  double log = 0;      // the sum over the tokens of the text
  bool greedy = true;  // whether each of them is the most likely one, the first of equals
};

class LikelihoodScorer {
 public:
  // `spec` says how it runs; its microbatch is how many contexts are read together, and how many
  // tokens the model can see. Nothing longer than what is in `all` can be scored.
  LikelihoodScorer(RunSpec spec, std::span<const Continuations> all, double deadline_seconds);

  Executor& executor() { return *executor_; }

  // By context, by text. `progress` receives the number of contexts done after every batch.
  std::vector<std::vector<Likelihood>> score(std::span<const Continuations> all,
                                             const std::function<void(int64_t)>& progress = {});

 private:
  // What a batch of contexts reads next, a row each. A row of fewer tokens ends with ones that
  // nothing reads.
  struct Rows {
    int64_t tokens = 0;  // of a row
    bool begins = false;
    std::vector<int32_t> token = {}, position = {}, last = {};
  };
  // A token whose likelihood is that of row `row` of the logits.
  struct Asked {
    size_t row = 0;
    int32_t token = 0;
    Likelihood* adds_to = nullptr;
  };

  const std::vector<Program>& programs_for(int64_t tokens, bool begins);
  void run(const Rows& rows);
  void score_batch(std::span<const Continuations* const> batch,
                   std::span<std::vector<Likelihood>* const> scores);
  void read_contexts(std::span<const Continuations* const> batch,
                     std::span<std::vector<Likelihood>* const> scores);
  void read_texts(std::span<const Continuations* const> batch,
                  std::span<std::vector<Likelihood>* const> scores, size_t nth);
  void add_likelihoods(std::span<const Asked> asked);

  RunSpec spec_;
  int64_t window_;  // positions that are kept
  std::map<std::pair<int64_t, bool>, std::vector<Program>> programs_;
  std::pair<int64_t, bool> shape_;  // of the programs that the executor has
  std::unique_ptr<Executor> executor_;
  std::vector<std::byte> logits_;
};

}  // namespace tessera
