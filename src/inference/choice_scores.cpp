// SPDX-License-Identifier: Apache-2.0
#include "inference/choice_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// Bytes that begin no character do not count.
double characters_of(std::string_view text) {
  return static_cast<double>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

double bytes_of(std::string_view text) { return static_cast<double>(text.size()); }

size_t most_likely(const ChoiceQuestion& question, std::span<const Likelihood> scores,
                   double (*length)(std::string_view)) {
  std::vector<double> rates;
  for (size_t i = 0; i < scores.size(); ++i)
    rates.push_back(scores[i].log / (length ? length(question.choices[i].text) : 1));
  return static_cast<size_t>(std::ranges::max_element(rates) - rates.begin());
}

MeanScore mean_score(std::span<const ChoiceResult> results, bool ChoiceResult::*right) {
  const auto count = static_cast<double>(results.size());
  const auto good = static_cast<double>(std::ranges::count(results, true, right));
  MeanScore score{.mean = good / count, .error = {}};
  // Of zeros and ones the sum of squared deviations is count x mean x (1 - mean).
  if (count > 1) score.error = std::sqrt(score.mean * (1 - score.mean) / (count - 1));
  return score;
}

// As Python writes them.
std::string python_number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

ChoiceResult choice_result(const ChoiceQuestion& question, std::span<const Likelihood> scores) {
  const auto is_right = [&](size_t choice) {
    return std::ranges::find(question.answers, choice) != question.answers.end();
  };
  const size_t taken = most_likely(question, scores, nullptr);
  return {.taken = taken,
          .right = is_right(taken),
          .right_by_characters = is_right(most_likely(question, scores, characters_of)),
          .right_by_bytes = is_right(most_likely(question, scores, bytes_of))};
}

ChoiceScores choice_scores(std::span<const ChoiceResult> results) {
  return {.acc = mean_score(results, &ChoiceResult::right),
          .acc_norm = mean_score(results, &ChoiceResult::right_by_characters),
          .acc_bytes = mean_score(results, &ChoiceResult::right_by_bytes)};
}

std::optional<StoredComparison> compare_with_stored(
    std::span<const ChoiceQuestion> questions, std::span<const std::vector<Likelihood>> scores) {
  StoredComparison found;
  std::vector<ChoiceResult> results;
  double sum = 0;
  for (size_t q = 0; q < questions.size(); ++q) {
    std::vector<Likelihood> stored;
    for (const Choice& choice : questions[q].choices) {
      if (!choice.stored) return std::nullopt;
      stored.push_back({.log = choice.stored->log, .greedy = choice.stored->greedy});
    }
    results.push_back(choice_result(questions[q], stored));
    found.same_choice += results.back().taken == choice_result(questions[q], scores[q]).taken;
    for (size_t i = 0; i < stored.size(); ++i) {
      const double difference = std::abs(stored[i].log - scores[q][i].log);
      found.largest = std::max(found.largest, difference);
      sum += difference;
      found.same_greedy += stored[i].greedy == scores[q][i].greedy;
    }
    found.choices += stored.size();
  }
  found.scores = choice_scores(results);
  found.mean = sum / static_cast<double>(found.choices);
  return found;
}

std::string sample_line(size_t index, const ChoiceQuestion& question,
                        std::span<const Likelihood> scores) {
  Json arguments = Json::object(), resps = Json::array(), filtered = Json::array();
  for (size_t i = 0; i < scores.size(); ++i) {
    const Choice& choice = question.choices[i];
    arguments[fmt::format("gen_args_{}", i)] = {{"arg_0", choice.context},
                                                {"arg_1", choice.continuation}};
    const Json score = Json::array(
        {Json(python_number(scores[i].log)), Json(scores[i].greedy ? "True" : "False")});
    resps.push_back(Json::array({score}));
    filtered.push_back(score);
  }
  std::string target = fmt::format("{}", question.answers.front());
  if (question.answers.size() > 1) target = fmt::format("[{}]", fmt::join(question.answers, ", "));
  const ChoiceResult result = choice_result(question, scores);
  return Json{{"doc_id", index},
              {"doc", question.doc},
              {"target", target},
              {"arguments", arguments},
              {"resps", resps},
              {"filtered_resps", filtered},
              {"filter", "none"},
              {"metrics", Json::array({Json("acc"), Json("acc_norm"), Json("acc_bytes")})},
              {"acc", result.right ? 1.0 : 0.0},
              {"acc_norm", result.right_by_characters ? 1.0 : 0.0},
              {"acc_bytes", result.right_by_bytes ? 1.0 : 0.0}}
      .dump();
}

}  // namespace tessera
