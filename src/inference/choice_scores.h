// SPDX-License-Identifier: Apache-2.0
// What likelihoods say of questions: which choice a model takes, and how often it is right, with
// the figures and the files of lm-evaluation-harness.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inference/choice_question.h"
#include "inference/likelihood_scorer.h"

namespace tessera {

// Of a question, whether the choice of the largest likelihood is right: as it is, over the
// characters of the choice's text, and over its bytes in UTF-8. Of equals the first is taken.
struct ChoiceResult {
  size_t taken = 0;
  bool right = false, right_by_characters = false, right_by_bytes = false;
};
ChoiceResult choice_result(const ChoiceQuestion& question, std::span<const Likelihood> scores);

struct MeanScore {
  double mean = 0;
  std::optional<double> error;  // standard error; nothing of one question
};
struct ChoiceScores {
  MeanScore acc, acc_norm, acc_bytes;
};
ChoiceScores choice_scores(std::span<const ChoiceResult> results);

// Beside scores that the file holds already.
struct StoredComparison {
  ChoiceScores scores;           // of what is stored
  size_t choices = 0;            // that are compared
  size_t same_choice = 0;        // questions in which both take the same
  size_t same_greedy = 0;        // choices of which both say the same
  double largest = 0, mean = 0;  // differences of log-likelihoods
};
// Nothing unless every choice of every question has a stored score.
std::optional<StoredComparison> compare_with_stored(
    std::span<const ChoiceQuestion> questions, std::span<const std::vector<Likelihood>> scores);

// A line of a samples_*.jsonl, without the newline.
std::string sample_line(size_t index, const ChoiceQuestion& question,
                        std::span<const Likelihood> scores);

}  // namespace tessera
