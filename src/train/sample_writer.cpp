// SPDX-License-Identifier: Apache-2.0
#include "train/sample_writer.h"

#include <chrono>

#include "config/run_spec.h"
#include "core/error.h"
#include "inference/stop_text.h"
#include "system/seconds_since.h"

namespace tessera {

namespace {

bool asks_for_samples(const Config& config) {
  if (config.train.sample_every >= 0) return config.train.sample_every > 0;
  return config.data.source == DataSource::Chat && is_host(config.run.device);
}

}  // namespace

SampleWriter::SampleWriter(const Config& config, const ModelConfig& model, int threads)
    : config_(config),
      model_(model),
      threads_(threads),
      text_(tokenizer_of_config(config), model.vocabulary),
      writes_(asks_for_samples(config) && model.has_sequence() && !model.own && text_.is_text()) {}

bool SampleWriter::due(int64_t step, bool evaluated) const {
  const TrainConfig& train = config_.train;
  return train.sample_every < 0 ? evaluated : step % train.sample_every == 0 || step == train.steps;
}

void SampleWriter::write(const Executor& trained, int64_t step,
                         const std::optional<ChatPrompt>& chat, RunOutputs& outputs) {
  if (config_.data.source == DataSource::Chat && !chat) return;  // nobody answers a user
  constexpr int64_t kTokens = 240;
  const auto begin = std::chrono::steady_clock::now();
  std::string text = config_.data.source == DataSource::Stories ? "Once upon a time" : "";
  std::vector<int32_t> prompt = text_.opening();
  for (const int32_t token : text_.encode(text)) prompt.push_back(token);
  if (chat) {
    text = chat->text;
    prompt = chat->tokens;
  }
  if (!generator_)
    generator_ = std::make_unique<TextGenerator>(
        model_, resolve_precision(config_).compute,
        GeneratorOptions{
            .window = window_for(static_cast<int64_t>(prompt.size()) + kTokens, config_.train.seq),
            .threads = threads_});
  generator_->copy_parameters(trained);
  StopText stop(chat && !chat->answer_end.empty() ? std::vector<std::string>{chat->answer_end}
                                                  : std::vector<std::string>{});
  // A low temperature: what the model is sure of, not all that it may say.
  try {
    generator_->generate(prompt, {.tokens = kTokens, .choice = {.temperature = 0.4}, .seed = 1},
                         [&](int32_t token) {
                           text += stop.add(text_.show(token));
                           return !stop.stopped();
                         });
  } catch (const UserError& error) {  // whether the run goes on is not the sample's to decide
    return outputs.warn(fmt::format("no sample at step {}: {}", step, error.message()));
  }
  text = printable(text + stop.rest());
  outputs.note(fmt::format("--- what it {} at step {} ---\n{}\n---", chat ? "answers" : "writes",
                           step, text));
  outputs.summary().samples.push_back({step, text});
  outputs.record_spent("sample", step, seconds_since(begin));
}

}  // namespace tessera
