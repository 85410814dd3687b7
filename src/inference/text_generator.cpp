// SPDX-License-Identifier: Apache-2.0
#include "inference/text_generator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "compiler/compile.h"
#include "core/random.h"
#include "exec/device.h"
#include "models/build_model.h"

namespace tessera {
namespace {

// Tokens in the order of their likelihood, found one by one: a draw needs few of them.
class LikeliestFirst {
 public:
  explicit LikeliestFirst(const std::vector<double>& logits) : less_likely_{logits} {
    rest_.resize(logits.size());
    std::iota(rest_.begin(), rest_.end(), 0);
    std::make_heap(rest_.begin(), rest_.end(), less_likely_);
  }

  int32_t at(size_t place) {
    for (; found_.size() <= place; rest_.pop_back()) {
      std::pop_heap(rest_.begin(), rest_.end(), less_likely_);
      found_.push_back(rest_.back());
    }
    return found_[place];
  }

 private:
  struct LessLikely {
    const std::vector<double>& logits;
    bool operator()(int32_t a, int32_t b) const {
      const double la = logits[static_cast<size_t>(a)], lb = logits[static_cast<size_t>(b)];
      return la != lb ? la < lb : a > b;
    }
  };

  LessLikely less_likely_;
  std::vector<int32_t> rest_, found_;
};

// Draws from softmax(logits / temperature), restricted to the top k.
int32_t draw(const std::vector<double>& logits, const GenerateOptions& options, double uniform) {
  LikeliestFirst order(logits);
  if (options.temperature <= 0) return order.at(0);
  const double largest = logits[static_cast<size_t>(order.at(0))];
  const auto weight_of_logit = [&](double logit) {
    return std::exp((logit - largest) / options.temperature);
  };
  const auto weight = [&](size_t place) {
    return weight_of_logit(logits[static_cast<size_t>(order.at(place))]);
  };
  double total = 0;
  size_t kept = logits.size();
  if (options.top_k > 0 && static_cast<size_t>(options.top_k) < kept) {
    kept = static_cast<size_t>(options.top_k);
    for (size_t i = 0; i < kept; ++i) total += weight(i);
  } else {
    for (const double logit : logits) total += weight_of_logit(logit);
  }
  double left = uniform * total;
  for (size_t i = 0; i + 1 < kept; ++i)
    if ((left -= weight(i)) < 0) return order.at(i);
  return order.at(kept - 1);
}

}  // namespace

int64_t window_for(int64_t text_tokens, int64_t seq) {
  constexpr int64_t kStep = 128;  // tiles of the kernels
  return std::min(seq, (text_tokens + kStep - 1) / kStep * kStep);
}

TextGenerator::TextGenerator(const ModelConfig& model, DType precision, int64_t window, int threads,
                             DeviceKind device)
    : window_(static_cast<size_t>(window)),
      positions_(static_cast<size_t>(window)),
      document_(static_cast<size_t>(window), 0) {
  const int own_threads = is_host(device) ? threads : 1;
  Compiled compiled =
      compile(build_model(model, {.batch = 1, .seq = window}, precision, HeadKind::Logits),
              {.training = false, .optimizer = {}, .profile = {.threads = own_threads}});
  executor_ =
      require_device(device).make_executor(std::move(compiled.programs), {.threads = own_threads});
  std::iota(positions_.begin(), positions_.end(), 0);
  output_.resize(static_cast<size_t>(executor_->program().output.type.bytes()));
  logits_.resize(static_cast<size_t>(model.vocabulary));
}

void TextGenerator::copy_parameters(const Executor& trained) {
  std::vector<std::byte> bytes;
  for (const StateBuffer& state : executor_->program().states) {
    const StateBuffer* source = trained.program().find_state(state.name);
    TESSERA_CHECK(source && source->type == state.type, "{}", state.name);
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    trained.read_state(*source, bytes);
    executor_->write_state(state, bytes);
  }
}

int32_t TextGenerator::next_token(const std::vector<int32_t>& text, const GenerateOptions& options,
                                  uint64_t draw_index) {
  const size_t shown = std::min(text.size(), window_.size());
  std::fill(window_.begin(), window_.end(), 0);
  std::copy(text.end() - static_cast<int64_t>(shown), text.end(), window_.begin());
  const auto last = static_cast<int32_t>(shown - 1);  // later positions are masked
  const HostView& program = executor_->program();
  const auto write = [&](std::string_view name, std::span<const int32_t> values) {
    if (const HostBuffer* input = program.find_batch_input(name))
      executor_->write_batch(*input, 0, std::as_bytes(values));
  };
  write("tokens", window_);
  write("positions", positions_);
  write("document", document_);
  write("last", {&last, 1});
  executor_->run("evaluate");
  executor_->read_output(output_);
  dispatch_float(program.output.type.dtype, [&]<typename T>() {
    const T* values = reinterpret_cast<const T*>(output_.data());
    for (size_t i = 0; i < logits_.size(); ++i) logits_[i] = static_cast<double>(load(values[i]));
  });
  return draw(logits_, options, RandomStream(options.seed, "generate").uniform(draw_index));
}

void TextGenerator::generate(std::vector<int32_t> prompt, const GenerateOptions& options,
                             const std::function<bool(int32_t)>& emit) {
  TESSERA_CHECK(!prompt.empty());
  for (int64_t i = 0; i < options.tokens; ++i) {
    const int32_t token = next_token(prompt, options, static_cast<uint64_t>(i));
    if (!emit(token)) return;
    prompt.push_back(token);
  }
}

}  // namespace tessera
