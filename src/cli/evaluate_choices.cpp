// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluate_choices.h"

#include <algorithm>
#include <chrono>

#include "cli/progress_bar.h"
#include "config/run_spec.h"
#include "core/quantities.h"
#include "exec/device.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "inference/choice_scores.h"
#include "inference/choice_tokens.h"
#include "inference/stored_model.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr int64_t kContextsAtOnce = 16;

struct ScoredQuestions {
  std::vector<ChoiceQuestion> questions;
  std::vector<std::vector<Likelihood>> scores;  // by question, by choice
  std::vector<ChoiceResult> results;
  std::optional<StoredComparison> stored;
  int64_t context_tokens = 0, choice_tokens = 0, cut = 0;
  int64_t planned_bytes = 0;
  double seconds = 0;
};

// The model's own settings and those of the command line. It sees as much as it can at all.
Config choices_config(const EvaluateCommand& command, const Config& trained) {
  const ModelConfig model = resolve_model(trained);
  std::vector<std::string> base = model_settings(model, trained.lora);
  base.push_back("train.precision=" + trained.train.precision);
  base.push_back(fmt::format("train.batch={}", kContextsAtOnce));
  base.push_back(fmt::format("train.seq={}", model.context));
  base.push_back("train.microbatches=1");
  base.push_back("data.held_out=0");
  Config config = load_config({}, command.run.all(), base);
  config.train.microbatches = 1;
  return config;
}

void check_mesh(const Config& config) {
  for (const Axis& axis : config.mesh)
    if (axis.name != "tp" && axis.name != "dp" && axis.size > 1)
      throw user_error("choices are scored over dp and tp, but the mesh has {} = {}", axis.name,
                       axis.size)
          .help("--mesh tp=2, --mesh dp=2,tp=2, or one rank");
}

// No more at once than there are, and as many on each rank of dp.
void set_batch(const EvaluateCommand& command, Config& config, int64_t contexts) {
  int64_t ranks = 1;
  for (const Axis& axis : config.mesh)
    if (axis.name == "dp") ranks = axis.size;
  if (!command.run.names("train.batch"))
    config.train.batch = (kContextsAtOnce + ranks - 1) / ranks * ranks;
  config.train.batch = std::min(config.train.batch, (contexts + ranks - 1) / ranks * ranks);
}

// Before hours of scoring: a file that cannot be written afterwards would lose them.
void require_free(const std::string& out) {
  if (out.empty()) return;
  std::error_code ignored;
  if (std::filesystem::exists(out, ignored))
    throw user_error("{} already exists", out).help("choose another name, or remove it");
  const AtomicFile can_be_written(out);  // leaves nothing
}

ScoredQuestions score_questions(const EvaluateCommand& command, const StateSource& stored,
                                Config& config) {
  const auto begin = std::chrono::steady_clock::now();
  const ModelConfig model = resolve_model(config);
  if (!model.has_sequence())
    throw user_error("a model of family {} cannot read tokens", name(model.family))
        .help(fmt::format("evaluate one of {}", families_with(&FamilyRow::has_sequence)));
  ScoredQuestions all;
  all.questions = read_choice_questions(command.data, command.samples);
  const TokenText words(tokenizer_of(stored, command.tokenizer), model.vocabulary);
  if (!words.is_text())
    throw user_error("{} is text, but there is no tokenizer.json next to {}", command.data,
                     stored.path().string())
        .help("give the model's tokenizer with --tokenizer");
  const ChoiceTokens tokens = choice_tokens(all.questions, words, command.prefix, config.train.seq);
  set_batch(command, config, std::ssize(tokens.all));
  LikelihoodScorer scorer(resolve(config), tokens.all, config.run.deadline_seconds);
  stored.load_weights(scorer.executor(), command.averaged);
  std::vector<std::vector<Likelihood>> found;
  {
    ProgressBar bar("contexts", std::ssize(tokens.all), false);
    found = scorer.score(tokens.all, [&](int64_t done) { bar.show(done); });
  }
  for (size_t q = 0; q < all.questions.size(); ++q) {
    std::vector<Likelihood>& scores = all.scores.emplace_back();
    for (const ChoiceTokens::Place& place : tokens.places[q])
      scores.push_back(found[place.context][place.text]);
    all.results.push_back(choice_result(all.questions[q], scores));
  }
  all.stored = compare_with_stored(all.questions, all.scores);
  all.context_tokens = tokens.contexts;
  all.choice_tokens = tokens.texts;
  all.cut = tokens.cut;
  all.planned_bytes = scorer.executor().planned_bytes();
  all.seconds = seconds_since(begin);
  return all;
}

void write_samples(const EvaluateCommand& command, const ScoredQuestions& all) {
  if (command.out.empty()) return;
  AtomicFile file(command.out);
  for (size_t q = 0; q < all.questions.size(); ++q)
    file.write(sample_line(q, all.questions[q], all.scores[q]) + "\n");
  file.commit();
}

struct ScoreRow {
  const char* name;
  MeanScore ChoiceScores::*score;
};
constexpr ScoreRow kScoreRows[] = {{"acc", &ChoiceScores::acc},
                                   {"acc_norm", &ChoiceScores::acc_norm},
                                   {"acc_bytes", &ChoiceScores::acc_bytes}};

void add_scores(Json& json, const ChoiceScores& scores) {
  for (const ScoreRow& row : kScoreRows) {
    json[row.name] = (scores.*row.score).mean;
    json[fmt::format("{}_stderr", row.name)] = (scores.*row.score).error;
  }
}

size_t count_choices(const ScoredQuestions& all) {
  size_t count = 0;
  for (const ChoiceQuestion& question : all.questions) count += question.choices.size();
  return count;
}

void print_as_json(const EvaluateCommand& command, const Config& config,
                   const ScoredQuestions& all) {
  Json json{{"model", command.from},
            {"data", command.data},
            {"mesh", to_string(Mesh(config.mesh))},
            {"precision", config.train.precision},
            {"seq", config.train.seq},
            {"batch", config.train.batch},
            {"questions", all.questions.size()},
            {"choices", count_choices(all)},
            {"context_tokens", all.context_tokens},
            {"choice_tokens", all.choice_tokens},
            {"cut", all.cut},
            {"seconds", all.seconds},
            {"planned_bytes", all.planned_bytes}};
  add_scores(json, choice_scores(all.results));
  if (!command.out.empty()) json["out"] = command.out;
  if (all.stored) {
    Json stored{{"same_choice", all.stored->same_choice},
                {"same_greedy", all.stored->same_greedy},
                {"largest_difference", all.stored->largest},
                {"mean_difference", all.stored->mean}};
    add_scores(stored, all.stored->scores);
    json["stored"] = stored;
  }
  print_json(json);
}

std::string score_text(const MeanScore& score) {
  return score.error ? fmt::format("{:.4f} +- {:.4f}", score.mean, *score.error)
                     : fmt::format("{:.4f}", score.mean);
}

void print_as_table(const EvaluateCommand& command, const Config& config,
                    const ScoredQuestions& all) {
  const ChoiceScores scores = choice_scores(all.results);
  const auto print_row = [&](std::string_view name, std::string_view ours,
                             const std::string& stored) {
    if (all.stored)
      fmt::print("{:<10} {:<18} {}\n", name, ours, stored);
    else
      fmt::print("{:<10} {}\n", name, ours);
  };
  print_row("", "this model", "stored in the file");
  for (const ScoreRow& row : kScoreRows)
    print_row(row.name, score_text(scores.*row.score),
              all.stored ? score_text(all.stored->scores.*row.score) : "");
  fmt::print("{} question{}, {} choices of {} tokens after contexts of {}: {}, {:.1f} s\n",
             all.questions.size(), all.questions.size() == 1 ? "" : "s", count_choices(all),
             all.choice_tokens, all.context_tokens, config.train.precision, all.seconds);
  if (all.stored)
    fmt::print(
        "beside the file: the same choice in {} of {} questions; log-likelihoods differ by {:.2e} "
        "at most, {:.2e} in the mean\n",
        all.stored->same_choice, all.questions.size(), all.stored->largest, all.stored->mean);
  if (all.cut > 0)
    fmt::print(
        "{} of the choices had a context longer than {} tokens, which was cut from the left\n",
        all.cut, config.train.seq);
  if (!command.out.empty()) fmt::print("a line for each question: {}\n", command.out);
}

}  // namespace

void evaluate_choices(const EvaluateCommand& command) {
  require_free(command.out);
  const auto stored = open_stored_model(command.from, command.base);
  Config config = choices_config(command, config_of(*stored));
  check_mesh(config);
  require_device(resolve(config).device);
  const ScoredQuestions all = score_questions(command, *stored, config);
  write_samples(command, all);
  if (command.run.json)
    print_as_json(command, config, all);
  else
    print_as_table(command, config, all);
}

}  // namespace tessera
