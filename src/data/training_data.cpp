// SPDX-License-Identifier: Apache-2.0
#include "data/training_data.h"

#include "core/random.h"
#include "data/best_fit_source.h"
#include "data/bin_source.h"
#include "data/byte_source.h"
#include "data/mixture.h"
#include "data/stories/story_source.h"
#include "data/synthetic_regression.h"
#include "data/token_sampler.h"

namespace tessera {
namespace {

std::unique_ptr<TokenSource> open_path(DataSource kind, const std::string& path,
                                       const Config& config, const ModelConfig& model) {
  if (kind == DataSource::Text) return std::make_unique<ByteSource>(path);
  BinSourceOptions options{.pattern = path, .vocabulary = model.vocabulary, .document_end = {}};
  if (config.data.document_end >= 0)
    options.document_end = static_cast<int32_t>(config.data.document_end);
  return std::make_unique<BinSource>(options);
}

std::vector<std::unique_ptr<TokenSource>> open_tokens(const Config& config,
                                                      const ModelConfig& model) {
  const DataConfig& data = config.data;
  std::vector<std::unique_ptr<TokenSource>> tokens;
  if (data.source == DataSource::Mixture) {
    for (const auto& [path, unused] : data.mixture) try {
        tokens.push_back(open_path(source_of_path(path), path, config, model));
      } catch (UserError& error) {
        throw UserError(error).at("data.mixture");
      }
  } else if (data.source == DataSource::Stories) {
    tokens.push_back(
        std::make_unique<StorySource>(static_cast<uint64_t>(data.seed), data.story_bytes));
  } else {
    tokens.push_back(open_path(data.source, data.path, config, model));
  }
  for (const auto& source : tokens)
    if (source->vocabulary_size() > model.vocabulary)
      throw user_error("the data has a vocabulary of {}, but the model has one of {}",
                       source->vocabulary_size(), model.vocabulary)
          .help(fmt::format("set model.vocabulary={}", source->vocabulary_size()));
  return tokens;
}

std::unique_ptr<SampleSource> sampler_of(const Config& config, const TokenSource& tokens,
                                         uint64_t seed, Split split) {
  return std::make_unique<TokenSampler>(
      tokens, TokenSamplerOptions{.seq = config.train.seq,
                                  .seed = seed,
                                  .held_out = config.data.held_out,
                                  .document_mask = config.data.document_mask,
                                  .split = split});
}

std::vector<double> weights_of(const DataConfig& data) {
  std::vector<double> weights;
  for (const auto& [unused, weight] : data.mixture) weights.push_back(weight);
  const std::vector<int64_t> shares = shares_of(weights);
  for (size_t i = 0; i < shares.size(); ++i)
    if (shares[i] == 0)
      throw user_error("the weight of {} in the mixture, {}, is less than 1 of 10,000 samples",
                       data.mixture[i].first, weights[i])
          .at("data.mixture")
          .help("raise it, or leave the source out");
  return weights;
}

std::unique_ptr<SampleSource> open_split(const Config& config, const TrainingData& data,
                                         Split split) {
  const auto seed = static_cast<uint64_t>(config.data.seed);
  if (config.data.source != DataSource::Mixture)
    return sampler_of(config, *data.tokens.front(), seed, split);
  // Otherwise sources of the same size would have the same order.
  const RandomStream seeds(seed, "mixture_source");
  std::vector<std::unique_ptr<SampleSource>> sources;
  for (const auto& tokens : data.tokens)
    sources.push_back(sampler_of(config, *tokens, seeds.bits(sources.size()), split));
  return std::make_unique<Mixture>(std::move(sources), weights_of(config.data), seed);
}

}  // namespace

TrainingData open_training_data(const Config& config, const ModelConfig& model, DType precision) {
  TrainingData data;
  if (!model.has_sequence()) {
    SyntheticRegressionOptions options{.width = model.width,
                                       .seed = static_cast<uint64_t>(config.data.seed),
                                       .dtype = precision,
                                       .split = Split::Train};
    data.train = std::make_unique<SyntheticRegression>(options);
    options.split = Split::HeldOut;
    data.held_out = std::make_unique<SyntheticRegression>(options);
    return data;
  }
  data.tokens = open_tokens(config, model);
  if (config.data.packing == Packing::BestFit)
    for (auto& tokens : data.tokens)
      tokens = std::make_unique<BestFitSource>(std::move(tokens), config.train.seq,
                                               config.data.held_out);
  data.train = open_split(config, data, Split::Train);
  if (config.data.held_out > 0) data.held_out = open_split(config, data, Split::HeldOut);
  return data;
}

}  // namespace tessera
