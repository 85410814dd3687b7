// SPDX-License-Identifier: Apache-2.0
#include "train/training_data.h"

#include "train/data/bin_source.h"
#include "train/data/byte_source.h"
#include "train/data/made_regression.h"
#include "train/data/story_source.h"
#include "train/data/token_sampler.h"

namespace tessera {
namespace {

// "auto": tokens where the path ends in .bin, text where there is another path, else stories.
std::string source_kind(const DataConfig& data) {
  if (data.source != "auto") return data.source;
  if (data.path.empty()) return "stories";
  return data.path.ends_with(".bin") ? "tokens" : "text";
}

std::unique_ptr<TokenSource> open_tokens(const DataConfig& data, const ModelConfig& model) {
  const std::string kind = source_kind(data);
  if (kind == "stories")
    return std::make_unique<StorySource>(static_cast<uint64_t>(data.seed), data.story_bytes);
  if (data.path.empty())
    throw user_error("data.source is {}, but data.path is empty", kind)
        .help("set data.path to a file, a folder or a glob");
  if (kind == "text") return std::make_unique<ByteSource>(data.path);
  BinSourceOptions options{
      .pattern = data.path, .vocabulary = model.vocabulary, .document_end = {}};
  if (data.document_end >= 0) options.document_end = static_cast<int32_t>(data.document_end);
  return std::make_unique<BinSource>(options);
}

std::unique_ptr<SampleSource> open_split(const Config& config, const TokenSource& tokens,
                                         Split split) {
  return std::make_unique<TokenSampler>(
      tokens, TokenSamplerOptions{.seq = config.train.seq,
                                  .seed = static_cast<uint64_t>(config.data.seed),
                                  .held_out = config.data.held_out,
                                  .document_mask = config.data.document_mask,
                                  .split = split});
}

}  // namespace

TrainingData open_training_data(const Config& config, const ModelConfig& model, DType precision) {
  TrainingData data;
  if (model.family == Family::Mlp) {
    MadeRegressionOptions options{.width = model.width,
                                  .seed = static_cast<uint64_t>(config.data.seed),
                                  .dtype = precision,
                                  .split = Split::Train};
    data.train = std::make_unique<MadeRegression>(options);
    options.split = Split::HeldOut;
    data.held_out = std::make_unique<MadeRegression>(options);
    return data;
  }
  data.tokens = open_tokens(config.data, model);
  if (data.tokens->vocabulary_size() > model.vocabulary)
    throw user_error("the data has {} kinds of token, the model a vocabulary of {}",
                     data.tokens->vocabulary_size(), model.vocabulary)
        .help(fmt::format("set model.vocabulary={}", data.tokens->vocabulary_size()));
  data.train = open_split(config, *data.tokens, Split::Train);
  if (config.data.held_out > 0) data.held_out = open_split(config, *data.tokens, Split::HeldOut);
  return data;
}

}  // namespace tessera
