// SPDX-License-Identifier: Apache-2.0
#include "inference/text_generator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "compiler/compile.h"
#include "core/random.h"
#include "exec/cpu/cpu_executor.h"
#include "models/build_model.h"

namespace tessera {
namespace {

// Draws from softmax(logits / temperature), restricted to the top k.
int32_t draw(std::vector<double>& logits, const GenerateOptions& options, double uniform) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto likelier = [&](int32_t a, int32_t b) {
    const double la = logits[static_cast<size_t>(a)], lb = logits[static_cast<size_t>(b)];
    return la != lb ? la > lb : a < b;
  };
  if (options.temperature <= 0) return *std::min_element(order.begin(), order.end(), likelier);
  size_t kept = order.size();
  if (options.top_k > 0) kept = std::min(kept, static_cast<size_t>(options.top_k));
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(kept), order.end(),
                    likelier);
  const double largest = logits[static_cast<size_t>(order[0])];
  double total = 0;
  std::vector<double> weights(kept);
  for (size_t i = 0; i < kept; ++i)
    total += weights[i] =
        std::exp((logits[static_cast<size_t>(order[i])] - largest) / options.temperature);
  double left = uniform * total;
  for (size_t i = 0; i + 1 < kept; ++i)
    if ((left -= weights[i]) < 0) return order[i];
  return order[kept - 1];
}

}  // namespace

TextGenerator::TextGenerator(const ModelConfig& model, DType precision, int64_t seq, int threads)
    : seq_(seq),
      window_(static_cast<size_t>(seq)),
      positions_(static_cast<size_t>(seq)),
      document_(static_cast<size_t>(seq), 0) {
  const DeviceProfile profile{.threads = threads};
  Compiled compiled =
      compile(build_model(model, {.batch = 1, .seq = seq}, precision, HeadKind::Logits),
              {.training = false, .optimizer = {}, .profile = profile});
  executor_ = std::make_unique<CpuExecutor>(std::move(compiled.program()),
                                            CpuExecutorOptions{.threads = threads});
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
