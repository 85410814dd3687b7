// SPDX-License-Identifier: Apache-2.0
#include "inference/likelihood_scorer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "compiler/compile.h"
#include "exec/device.h"
#include "models/build_model.h"

namespace tessera {
namespace {

using Tokens = std::vector<int32_t>;

Config small_config(const std::string& preset, const std::string& mesh, int batch) {
  std::vector<std::string> settings{"model.preset=" + preset,
                                    "model.layers=2",
                                    "model.width=16",
                                    "model.heads=2",
                                    "model.mlp_size=24",
                                    "model.vocabulary=62",
                                    "model.context=16",
                                    "train.precision=fp64",
                                    "train.microbatches=1",
                                    "train.seq=16",
                                    "train.batch=" + std::to_string(batch)};
  if (preset == "tiny") settings.insert(settings.end(), {"model.head_size=8", "model.kv_heads=2"});
  if (!mesh.empty()) settings.push_back("mesh=" + mesh);
  return load_config({}, settings);
}

// The logits of the last token of a text, by a forward of the whole text, with nothing kept.
std::vector<double> last_logits(const RunSpec& spec, const Tokens& tokens) {
  const int64_t seq = std::ssize(tokens);
  const auto executor = require_device(DeviceKind::Cpu)
                            .make_executor(compile(build_model(spec.model, {.batch = 1, .seq = seq},
                                                               DType::Fp64, HeadKind::Logits),
                                                   {.training = false})
                                               .programs,
                                           {});
  initialise_states(*executor, 1);
  Tokens positions(tokens.size());
  std::iota(positions.begin(), positions.end(), 0);
  const Tokens document(tokens.size(), 0), last{static_cast<int32_t>(seq) - 1};
  const std::pair<const char*, const Tokens*> inputs[] = {
      {"tokens", &tokens}, {"positions", &positions}, {"document", &document}, {"last", &last}};
  for (const auto& [name, values] : inputs)
    if (const HostBuffer* input = executor->program().find_batch_input(name))
      executor->write_batch(*input, 0, std::as_bytes(std::span(*values)));
  executor->run("evaluate");
  std::vector<double> logits(static_cast<size_t>(spec.model.vocabulary));
  executor->read_output(std::as_writable_bytes(std::span(logits)));
  return logits;
}

Likelihood by_whole_forwards(const RunSpec& spec, Tokens text, const Tokens& scored) {
  Likelihood found;
  for (const int32_t token : scored) {
    const std::vector<double> logits = last_logits(spec, text);
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    found.log += logits[static_cast<size_t>(token)] - std::log(sum);
    found.greedy = found.greedy && std::ranges::max_element(logits) - logits.begin() == token;
    text.push_back(token);
  }
  return found;
}

// Rows that are full, rows of one token, contexts with one text and with many.
std::vector<Continuations> made_questions() {
  std::vector<Continuations> all;
  const std::vector<std::pair<int, std::vector<int>>> lengths{
      {5, {1, 1}}, {16, {1, 1}}, {3, {4, 2, 7}}, {12, {5}}, {1, {2, 16}}, {9, {3, 8, 1, 1}}};
  int32_t next = 7;
  const auto draw = [&](int count) {
    Tokens tokens;
    for (int i = 0; i < count; ++i) tokens.push_back(next = (next * 29 + 11) % 61);
    return tokens;
  };
  for (const auto& [context, texts] : lengths) {
    Continuations& each = all.emplace_back();
    each.context = draw(context);
    for (const int length : texts) each.texts.push_back(draw(length));
  }
  return all;
}

TEST(LikelihoodScorer, ScoresAsAForwardOfTheWholeTextWhateverIsReadTogether) {
  std::vector<Continuations> all = made_questions();
  for (const std::string preset : {"tiny", "gpt2-124m"}) {
    const RunSpec one = resolve(small_config(preset, "", 1));
    // What follows a context greedily is greedy.
    const std::vector<double> logits = last_logits(one, all[0].context);
    all[0].texts[1] = {static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin())};
    std::vector<std::vector<Likelihood>> expected;
    for (const Continuations& each : all) {
      std::vector<Likelihood>& row = expected.emplace_back();
      for (const Tokens& text : each.texts)
        row.push_back(by_whole_forwards(one, each.context, text));
    }
    EXPECT_TRUE(expected[0][1].greedy);
    const std::pair<const char*, int> runs[] = {
        {"", 1}, {"", 4}, {"", 8}, {"tp=2", 4}, {"dp=2", 2}};
    for (const auto& [mesh, batch] : runs) {
      SCOPED_TRACE(fmt::format("{} on [{}], {} at once", preset, mesh, batch));
      LikelihoodScorer scorer(resolve(small_config(preset, mesh, batch)), all, 120);
      initialise_states(scorer.executor(), 1);
      int64_t done = 0;
      const auto found = scorer.score(all, [&](int64_t now) { done = now; });
      EXPECT_EQ(done, std::ssize(all));
      for (size_t i = 0; i < all.size(); ++i)
        for (size_t j = 0; j < all[i].texts.size(); ++j) {
          EXPECT_NEAR(found[i][j].log, expected[i][j].log, 1e-11) << i << " " << j;
          EXPECT_EQ(found[i][j].greedy, expected[i][j].greedy) << i << " " << j;
        }
    }
  }
}

}  // namespace
}  // namespace tessera
