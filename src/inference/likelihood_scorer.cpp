// SPDX-License-Identifier: Apache-2.0
#include "inference/likelihood_scorer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/compile.h"
#include "core/error.h"
#include "exec/make_executor.h"
#include "inference/finite_numbers.h"
#include "models/build_model.h"
#include "system/threads.h"

namespace tessera {
namespace {

// Rows of a few lengths only, at most a half longer than they must be: each is compiled once.
int64_t row_length(int64_t tokens, int64_t most) {
  int64_t length = 1;
  while (length < tokens) {
    if (length > 2 && length + length / 2 >= tokens) return std::min(most, length + length / 2);
    length *= 2;
  }
  return std::min(most, length);
}

// A text's last token is never read: nothing follows it.
int64_t tokens_read(const Continuations& all) {
  return std::ssize(all.context) + all.longest() - 1;
}

int64_t most_tokens_read(std::span<const Continuations> all) {
  int64_t most = 1;
  for (const Continuations& each : all) most = std::max(most, tokens_read(each));
  return most;
}

template <typename T>
void add_likelihood(const T* logits, int64_t vocabulary, int32_t token, Likelihood& to) {
  const T* end = logits + vocabulary;
  const T* best = std::max_element(logits, end);
  const double max = static_cast<double>(*best);
  double sum = 0;
  for (const T* logit = logits; logit != end; ++logit)
    sum += std::exp(static_cast<double>(*logit) - max);
  to.log += static_cast<double>(logits[token]) - max - std::log(sum);
  to.greedy = to.greedy && best == logits + token;
}

}  // namespace

int64_t Continuations::longest() const {
  size_t most = 0;
  for (const std::vector<int32_t>& text : texts) most = std::max(most, text.size());
  return static_cast<int64_t>(most);
}

LikelihoodScorer::LikelihoodScorer(RunSpec spec, std::span<const Continuations> all,
                                   double deadline_seconds)
    : spec_(std::move(spec)),
      window_(row_length(most_tokens_read(all), spec_.seq())),
      shape_(1, false) {
  TESSERA_CHECK(spec_.microbatches == 1, "{}", spec_.microbatches);
  executor_ = make_executor(spec_, programs_for(1, false), {.deadline_seconds = deadline_seconds});
}

// States come first in memory and are the same in all of them: an executor keeps weights and cache
// when it takes others.
const std::vector<Program>& LikelihoodScorer::programs_for(int64_t tokens, bool begins) {
  const auto [found, is_new] = programs_.try_emplace({tokens, begins});
  if (is_new)
    found->second =
        compile(build_model(spec_.model, {.batch = spec_.batch(), .seq = tokens}, spec_.precision,
                            HeadKind::Scores, {.positions = window_, .begins = begins}),
                {.training = false,
                 .optimizer = {},
                 .plan = spec_.plan,
                 .profile = {.threads = spec_.threads_per_rank()}})
            .programs;
  return found->second;
}

void LikelihoodScorer::run(const Rows& rows) {
  const std::pair<int64_t, bool> shape{rows.tokens, rows.begins};
  if (shape != shape_)
    executor_->replace_programs(programs_for(rows.tokens, rows.begins), ProgramChange::Inputs);
  shape_ = shape;
  const HostView& program = executor_->program();
  const auto write = [&](std::string_view name, const std::vector<int32_t>& values) {
    if (const HostBuffer* input = program.find_batch_input(name))
      executor_->write_batch(*input, 0, std::as_bytes(std::span(values)));
  };
  write("tokens", rows.token);
  write("positions", rows.position);
  write("document", std::vector<int32_t>(rows.token.size(), 0));
  write("last", rows.last);
  executor_->run("evaluate");
  logits_.resize(static_cast<size_t>(program.output.whole.bytes()));
  executor_->read_output(logits_);
}

// In double, whatever the model computes in.
void LikelihoodScorer::add_likelihoods(std::span<const Asked> asked) {
  const TensorType& type = executor_->program().output.whole;
  const int64_t vocabulary = spec_.model.vocabulary, stride = type.dims.back().size;
  std::vector<Likelihood> found(asked.size());
  dispatch_float(type.dtype, [&]<typename T>() {
    if constexpr (std::is_floating_point_v<T>) {
      const T* logits = reinterpret_cast<const T*>(logits_.data());
      run_parts(asked.size(), spec_.threads, [&](size_t i, size_t) {
        const auto row = static_cast<int64_t>(asked[i].row);
        add_likelihood(logits + row * stride, vocabulary, asked[i].token, found[i]);
      });
    } else {
      TESSERA_CHECK(false, "logits in {}", name(type.dtype));
    }
  });
  for (size_t i = 0; i < asked.size(); ++i) {
    require_finite({&found[i].log, 1});
    asked[i].adds_to->log += found[i].log;
    asked[i].adds_to->greedy = asked[i].adds_to->greedy && found[i].greedy;
  }
}

// The first token of every text follows from the context.
void LikelihoodScorer::read_contexts(std::span<const Continuations* const> batch,
                                     std::span<std::vector<Likelihood>* const> scores) {
  int64_t longest = 1;
  for (const Continuations* each : batch)
    if (each) longest = std::max(longest, std::ssize(each->context));
  Rows rows{.tokens = row_length(longest, window_), .begins = true};
  std::vector<Asked> asked;
  for (size_t row = 0; row < batch.size(); ++row) {
    const std::vector<int32_t> none{0};
    std::vector<int32_t> tokens = batch[row] ? batch[row]->context : none;
    rows.last.push_back(static_cast<int32_t>(tokens.size()) - 1);
    tokens.resize(static_cast<size_t>(rows.tokens), 0);
    rows.token.insert(rows.token.end(), tokens.begin(), tokens.end());
    for (int32_t position = 0; position < rows.tokens; ++position)
      rows.position.push_back(position);
    for (size_t text = 0; batch[row] && text < batch[row]->texts.size(); ++text)
      asked.push_back({row, batch[row]->texts[text].front(), &(*scores[row])[text]});
  }
  run(rows);
  add_likelihoods(asked);
}

// The nth text of each context, from its longest on: what it keeps takes the place of what the one
// before kept. A row that ends early reads its last token again, which changes nothing; one
// without a text writes where the next text begins.
void LikelihoodScorer::read_texts(std::span<const Continuations* const> batch,
                                  std::span<std::vector<Likelihood>* const> scores, size_t nth) {
  std::vector<const std::vector<int32_t>*> texts(batch.size());
  std::vector<size_t> indices(batch.size());
  int64_t longest = 1;
  for (size_t row = 0; row < batch.size(); ++row) {
    if (!batch[row] || nth >= batch[row]->texts.size()) continue;
    const auto& all = batch[row]->texts;
    std::vector<size_t> order(all.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return all[i].size(); });
    indices[row] = order[nth];
    texts[row] = &all[order[nth]];
    longest = std::max(longest, std::ssize(*texts[row]));
  }
  if (longest == 1) return;
  Rows rows{.tokens = row_length(longest - 1, window_), .begins = false};
  std::vector<Asked> asked;
  for (size_t row = 0; row < batch.size(); ++row) {
    const int64_t begin = batch[row] ? std::ssize(batch[row]->context) : 0;
    const int64_t read = texts[row] ? std::ssize(*texts[row]) - 1 : 0;
    for (int64_t i = 0; i < rows.tokens; ++i) {
      const int64_t at = std::min(i, std::max<int64_t>(0, read - 1));
      rows.token.push_back(read > 0 ? (*texts[row])[static_cast<size_t>(at)] : 0);
      rows.position.push_back(static_cast<int32_t>(std::min(begin + at, window_ - 1)));
      if (i < read)
        asked.push_back({row * static_cast<size_t>(rows.tokens) + static_cast<size_t>(i),
                         (*texts[row])[static_cast<size_t>(i) + 1], &(*scores[row])[indices[row]]});
    }
  }
  run(rows);
  add_likelihoods(asked);
}

void LikelihoodScorer::score_batch(std::span<const Continuations* const> batch,
                                   std::span<std::vector<Likelihood>* const> scores) {
  size_t most = 0;
  for (const Continuations* each : batch)
    if (each) most = std::max(most, each->texts.size());
  read_contexts(batch, scores);
  for (size_t nth = 0; nth < most; ++nth) read_texts(batch, scores, nth);
}

// The longest first: if there is no memory, it shows at once, and the rows of a batch have about
// the same length.
std::vector<std::vector<Likelihood>> LikelihoodScorer::score(
    std::span<const Continuations> all, const std::function<void(int64_t)>& progress) {
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) {
    return std::pair(all[i].context.size(), all[i].longest());
  });
  std::vector<std::vector<Likelihood>> scores;
  for (const Continuations& each : all) {
    TESSERA_CHECK(!each.context.empty() && tokens_read(each) <= window_, "{} tokens",
                  tokens_read(each));
    for (const std::vector<int32_t>& text : each.texts) TESSERA_CHECK(!text.empty());
    scores.emplace_back(each.texts.size());
  }
  const auto at_once = static_cast<size_t>(spec_.batch());
  for (size_t first = 0; first < order.size(); first += at_once) {
    std::vector<const Continuations*> batch(at_once);
    std::vector<std::vector<Likelihood>*> found(at_once);
    const size_t end = std::min(order.size(), first + at_once);
    for (size_t i = first; i < end; ++i) {
      batch[i - first] = &all[order[i]];
      found[i - first] = &scores[order[i]];
    }
    score_batch(batch, found);
    if (progress) progress(static_cast<int64_t>(end));
  }
  return scores;
}

}  // namespace tessera
