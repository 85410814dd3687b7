// SPDX-License-Identifier: Apache-2.0
#include "inference/text_generator.h"

#include <algorithm>

#include "compiler/compile.h"
#include "core/random.h"
#include "exec/device.h"
#include "inference/finite_numbers.h"
#include "models/build_model.h"

namespace tessera {

int64_t window_for(int64_t text_tokens, int64_t seq) {
  constexpr int64_t kStep = 128;  // tiles of the kernels
  return std::min(seq, (text_tokens + kStep - 1) / kStep * kStep);
}

TextGenerator::TextGenerator(const ModelConfig& model, DType precision, GeneratorOptions options)
    : model_(model), precision_(precision), options_(std::move(options)) {
  if (!is_host(options_.device)) options_.threads = 1;
  executor_ = require_device(options_.device)
                  .make_executor(programs_for(reading_), {.threads = options_.threads});
}

// States come first in memory and are the same in all of them: an executor keeps weights and cache
// when it takes others.
const std::vector<Program>& TextGenerator::programs_for(Reading reading) {
  const auto [found, is_new] = programs_.try_emplace(reading);
  if (is_new)
    found->second = compile(build_model(model_, {.batch = options_.texts, .seq = reading.tokens},
                                        precision_, HeadKind::Logits,
                                        {.positions = options_.window, .begins = reading.begins}),
                            {.training = false,
                             .optimizer = {},
                             .plan = options_.plan,
                             .profile = {.threads = options_.threads}})
                        .programs;
  return found->second;
}

void TextGenerator::take_programs(Reading reading) {
  if (reading == reading_) return;
  executor_->replace_programs(programs_for(reading), ProgramChange::Inputs);
  reading_ = reading;
}

void TextGenerator::copy_parameters(const Executor& trained) {
  held_.clear();
  std::vector<std::byte> bytes;
  for (const StateBuffer& state : executor_->program().states) {
    if (state.spec.role == StateRole::Cache) continue;
    const StateBuffer* source = trained.program().find_state(state.name);
    TESSERA_CHECK(source && source->type == state.type, "{}", state.name);
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    trained.read_state(*source, bytes);
    executor_->write_state(state, bytes);
  }
}

void TextGenerator::run(const std::vector<int32_t>& tokens, const std::vector<int32_t>& positions,
                        const std::vector<int32_t>& last) {
  const HostView& program = executor_->program();
  const auto write = [&](std::string_view name, const std::vector<int32_t>& values) {
    if (const HostBuffer* input = program.find_batch_input(name))
      executor_->write_batch(*input, 0, std::as_bytes(std::span(values)));
  };
  write("tokens", tokens);
  write("positions", positions);
  write("document", std::vector<int32_t>(tokens.size(), 0));
  write("last", last);
  executor_->run("evaluate");
  output_.resize(static_cast<size_t>(program.output.whole.bytes()));
  executor_->read_output(output_);
}

// All of a text that fits the window; of one that fills it already, half, so that there is room for
// more. Shorter texts are followed by tokens that nothing reads: the cache has the next ones in
// their place before a query sees it.
void TextGenerator::begin(const Texts& texts) {
  dropped_.clear();
  int64_t longest = 1;
  for (const std::vector<int32_t>& text : texts) {
    const auto size = std::ssize(text);
    const int64_t kept = size < options_.window ? size : std::max<int64_t>(1, options_.window / 2);
    dropped_.push_back(size - kept);
    longest = std::max(longest, kept);
  }
  // A window of one token has no program of its own.
  const int64_t at_once = std::max<int64_t>(std::min<int64_t>(2, options_.window),
                                            window_for(longest, options_.window));
  held_.clear();
  take_programs({.tokens = at_once, .begins = at_once > 1});
  std::vector<int32_t> tokens, positions, last;
  for (size_t i = 0; i < texts.size(); ++i) {
    for (int64_t p = 0; p < at_once; ++p) {
      const auto at = static_cast<size_t>(dropped_[i] + p);
      tokens.push_back(at < texts[i].size() ? texts[i][at] : 0);
      positions.push_back(static_cast<int32_t>(p));
    }
    last.push_back(static_cast<int32_t>(std::ssize(texts[i]) - dropped_[i] - 1));
  }
  run(tokens, positions, last);
  computed_tokens_ = longest;
  if (texts.size() == 1 && dropped_.front() == 0) held_ = texts.front();
}

// A power of two, so that few programs are compiled. On a GPU a change of programs moves the
// weights through the host, which takes longer than a few tokens one by one.
int64_t TextGenerator::tokens_at_once(int64_t left, int64_t room) const {
  constexpr int64_t kMost = 512, kOneByOne = 64;
  if (!is_host(options_.device) && left <= kOneByOne) return 1;
  int64_t count = 1;
  while (count < left && 2 * count <= std::min(room, kMost)) count *= 2;
  return count;
}

// All that the cache does not hold of it. The last token is always read, for what follows it.
void TextGenerator::read_rest(const std::vector<int32_t>& text) {
  const auto size = std::ssize(text);
  const auto known =
      std::min<int64_t>(std::ranges::mismatch(held_, text).in2 - text.begin(), size - 1);
  if (known == 0 || size >= options_.window) return begin({text});
  dropped_ = {0};
  for (int64_t at = known; at < size;) {
    const int64_t count = tokens_at_once(size - at, options_.window - at);
    take_programs({.tokens = count});
    std::vector<int32_t> tokens, positions;
    for (int64_t p = at; p < at + count; ++p) {
      tokens.push_back(p < size ? text[static_cast<size_t>(p)] : 0);
      positions.push_back(static_cast<int32_t>(p));
    }
    held_.resize(static_cast<size_t>(at));
    run(tokens, positions, {static_cast<int32_t>(std::min(count, size - at)) - 1});
    at += count;
  }
  held_ = text;
  computed_tokens_ = size - known;
}

// With the last token of each text.
void TextGenerator::go_on(const Texts& texts) {
  const auto has_room = [&](size_t i) {
    return std::ssize(texts[i]) - dropped_[i] <= options_.window;
  };
  for (size_t i = 0; i < texts.size(); ++i)
    if (!has_room(i)) return begin(texts);
  take_programs({});
  std::vector<int32_t> tokens, positions;
  for (size_t i = 0; i < texts.size(); ++i) {
    tokens.push_back(texts[i].back());
    positions.push_back(static_cast<int32_t>(std::ssize(texts[i]) - dropped_[i] - 1));
  }
  run(tokens, positions, std::vector<int32_t>(texts.size(), 0));
  if (texts.size() == 1 && dropped_.front() == 0) held_.push_back(tokens.front());
}

std::vector<double> TextGenerator::logits_of(size_t text) const {
  const HostBuffer& output = executor_->program().output;
  const auto count = static_cast<size_t>(model_.vocabulary);
  const size_t stride = output_.size() / static_cast<size_t>(options_.texts);
  std::vector<double> logits(count);
  dispatch_float(output.type.dtype, [&]<typename T>() {
    const T* values = reinterpret_cast<const T*>(output_.data() + text * stride);
    for (size_t i = 0; i < count; ++i) logits[i] = static_cast<double>(load(values[i]));
  });
  require_finite(logits);
  return logits;
}

void TextGenerator::generate(Texts texts, const GenerateOptions& options,
                             const std::function<bool(size_t, int32_t)>& emit) {
  TESSERA_CHECK(std::ssize(texts) == options_.texts, "{} prompts for {} texts", texts.size(),
                options_.texts);
  for (const std::vector<int32_t>& text : texts) TESSERA_CHECK(!text.empty());
  TESSERA_CHECK(!options.continues || texts.size() == 1, "{} texts go on", texts.size());
  std::vector<RandomStream> streams;
  for (size_t i = 0; i < texts.size(); ++i)
    streams.emplace_back(options.seed, i == 0 ? "generate" : fmt::format("generate {}", i));
  std::vector<bool> writes(texts.size(), true);
  for (int64_t n = 0; n < options.tokens; ++n) {
    if (std::find(writes.begin(), writes.end(), true) == writes.end()) return;
    if (n > 0)
      go_on(texts);
    else if (options.continues)
      read_rest(texts.front());
    else
      begin(texts);
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto draw = static_cast<uint64_t>(options.first_draw + n);
      const int32_t token = choose_token(logits_of(i), options.choice, streams[i].uniform(draw));
      texts[i].push_back(token);
      if (writes[i]) writes[i] = emit(i, token);
    }
  }
}

void TextGenerator::generate(std::vector<int32_t> prompt, const GenerateOptions& options,
                             const std::function<bool(int32_t)>& emit) {
  generate(Texts{std::move(prompt)}, options, [&](size_t, int32_t token) { return emit(token); });
}

}  // namespace tessera
