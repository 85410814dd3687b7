// SPDX-License-Identifier: Apache-2.0
#include "train/sample_writer.h"

#include <chrono>

#include "config/run_spec.h"
#include "system/seconds_since.h"

namespace tessera {

SampleWriter::SampleWriter(const Config& config, const ModelConfig& model, int threads)
    : config_(config),
      model_(model),
      threads_(threads),
      text_(tokenizer_of_config(config), model.vocabulary),
      writes_(config.train.sample_every > 0 && model.has_sequence() && !model.own &&
              text_.is_text()) {}

void SampleWriter::write(const Executor& trained, int64_t step, RunOutputs& outputs) {
  constexpr int64_t kTokens = 240;
  const auto begin = std::chrono::steady_clock::now();
  std::string text = config_.data.source == DataSource::Stories ? "Once upon a time" : "";
  std::vector<int32_t> prompt = text_.opening();
  for (const int32_t token : text_.encode(text)) prompt.push_back(token);
  if (!generator_)
    generator_ = std::make_unique<TextGenerator>(
        model_, resolve_precision(config_).compute,
        GeneratorOptions{
            .window = window_for(static_cast<int64_t>(prompt.size()) + kTokens, config_.train.seq),
            .threads = threads_});
  generator_->copy_parameters(trained);
  // A low temperature: what the model is sure of, not all that it may say.
  generator_->generate(prompt, {.tokens = kTokens, .choice = {.temperature = 0.4}, .seed = 1},
                       [&](int32_t token) {
                         text += text_.show(token);
                         return true;
                       });
  text = printable(text);
  outputs.note(fmt::format("--- what it writes at step {} ---\n{}\n---", step, text));
  outputs.summary().samples.push_back({step, text});
  outputs.record_spent("sample", step, seconds_since(begin));
}

}  // namespace tessera
