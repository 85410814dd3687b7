// SPDX-License-Identifier: Apache-2.0
#include "data/training_data.h"

#include "core/random.h"
#include "data/best_fit_source.h"
#include "data/bin_source.h"
#include "data/byte_source.h"
#include "data/document_border.h"
#include "data/mixture.h"
#include "data/stories/story_source.h"
#include "data/stream_sampler.h"
#include "data/synthetic_regression.h"
#include "data/token_sampler.h"

namespace tessera {
namespace {

constexpr int64_t kByteVocabulary = 256;

// One path of a config, or the built-in stories.
struct OpenedSource {
  std::unique_ptr<TokenSource> tokens;
  std::unique_ptr<TokenSource> held_out;  // null: the last of `tokens` are held out
  DataShuffle shuffle = DataShuffle::Windows;
};

std::string shown(const ChatCounts& counts) {
  std::string text =
      fmt::format("{} conversation{}", counts.conversations, counts.conversations == 1 ? "" : "s");
  if (counts.texts > counts.conversations) text += fmt::format(" in {} texts", counts.texts);
  return text + fmt::format(" of {} tokens, {} of them learned", counts.tokens, counts.learned);
}

std::string note_on(const ChatSource& chats, const std::string& path, int64_t seq) {
  std::string note = fmt::format("{}: {}", path, shown(chats.train()));
  if (chats.held_out().texts > 0) note += "; held out: " + shown(chats.held_out());
  if (chats.duplicates() > 0) note += fmt::format("; {} copies left out", chats.duplicates());
  if (chats.cut() > 0) note += fmt::format("; {} cut at train.seq = {} tokens", chats.cut(), seq);
  if (chats.left_out() > 0)
    note += fmt::format("; {} without a learned token left out", chats.left_out());
  return note;
}

class SourceOpener {
 public:
  SourceOpener(const Config& config, const ModelConfig& model, const DataProgress& progress,
               TrainingData& data)
      : config_(config), data_(config.data), model_(model), progress_(progress), opened_(data) {}

  // `share` of it is to be held out.
  OpenedSource open(DataSource kind, const std::string& path, double share) const {
    OpenedSource source = open_kind(kind, path, share);
    if (source.tokens->vocabulary_size() > model_.vocabulary)
      throw user_error("the data has a vocabulary of {}, but the model has one of {}",
                       source.tokens->vocabulary_size(), model_.vocabulary)
          .help(fmt::format("set model.vocabulary={}", source.tokens->vocabulary_size()));
    if (data_.packing == Packing::BestFit) {
      const double packed_share = source.held_out ? 0 : share;
      for (auto* each : {&source.tokens, &source.held_out})
        if (*each)
          *each =
              std::make_unique<BestFitSource>(std::move(*each), config_.train.seq, packed_share);
    }
    return source;
  }

 private:
  OpenedSource open_kind(DataSource kind, const std::string& path, double share) const {
    if (kind == DataSource::Stories) {
      refuse_documents("built-in stories", "leave it out");
      return {.tokens = std::make_unique<StorySource>(static_cast<uint64_t>(data_.seed),
                                                      data_.story_bytes),
              .held_out = {},
              .shuffle = shuffle_of_rest()};
    }
    if (kind == DataSource::Tokens) return open_shards(path, share);
    if (kind == DataSource::Chat) return open_chats(path, share);
    if (data_.tokenizer.empty()) return open_bytes(path, share);
    TextTokens text =
        open_text_tokens(path, data_, share > 0, data_.packing == Packing::BestFit, progress_);
    opened_.notes.push_back(std::move(text.note));
    return {.tokens = std::move(text.train),
            .held_out = std::move(text.held_out),
            .shuffle = text.shuffle};
  }

  OpenedSource open_shards(const std::string& path, double share) const {
    refuse_documents("token shards", "tessera tokenize --shuffle and --deduplicate do it");
    BinSourceOptions options{.pattern = path, .vocabulary = model_.vocabulary, .document_end = {}};
    if (data_.document_end >= 0) options.document_end = static_cast<int32_t>(data_.document_end);
    std::unique_ptr<TokenSource> tokens = std::make_unique<BinSource>(options);
    if (share > 0 && data_.split == DataSplit::Documents)
      tokens = std::make_unique<DocumentBorder>(std::move(tokens), share, config_.train.seq);
    return {.tokens = std::move(tokens), .held_out = {}, .shuffle = shuffle_of_rest()};
  }

  OpenedSource open_chats(const std::string& path, double share) const {
    if (data_.tokenizer.empty() && model_.vocabulary != kByteVocabulary)
      throw user_error(
          "without a tokenizer the tokens of conversations are bytes, but the model "
          "has a vocabulary of {}",
          model_.vocabulary)
          .at("data.tokenizer")
          .help(fmt::format("give the model's tokenizer (data.tokenizer), or model.vocabulary={}",
                            kByteVocabulary));
    const ChatFormat format = open_chat_format(data_);
    auto chats = std::make_unique<ChatSource>(
        format, ChatSourceOptions{.path = path,
                                  .roles = chat_roles_of(data_),
                                  .most_tokens = config_.train.seq,
                                  .deduplicate = data_.deduplicate,
                                  .held_out = share,
                                  .seed = static_cast<uint64_t>(data_.seed),
                                  .threads = static_cast<int>(data_.threads),
                                  .progress = [&](int64_t done, int64_t all) {
                                    if (progress_) progress_("conversations", done, all);
                                  }});
    opened_.notes.push_back(note_on(*chats, path, config_.train.seq));
    opened_.prompt = chats->prompt();
    return {.tokens = std::move(chats), .held_out = {}, .shuffle = shuffle_of_rest()};
  }

  OpenedSource open_bytes(const std::string& path, double share) const {
    const bool documents = data_.shuffle == DataShuffle::Documents;
    const bool split =
        data_.split == DataSplit::Documents || (data_.split == DataSplit::Auto && documents);
    auto bytes =
        std::make_unique<ByteSource>(ByteSourceOptions{.path = path,
                                                       .field = data_.field,
                                                       .deduplicate = data_.deduplicate,
                                                       .shuffle = documents,
                                                       .held_out = split ? share : 0,
                                                       .seed = static_cast<uint64_t>(data_.seed)});
    const std::optional<int64_t> border = bytes->held_out_begin();
    if (border && (*border == 0 || *border == bytes->num_tokens()))
      throw user_error("of the documents of {} {} would be held out, by their digests", path,
                       *border == 0 ? "all" : "none")
          .at("data.held_out")
          .help(
              "hold out the last bytes with data.split=tokens, or another share, or other data "
              "(data.held_out_path)");
    return {.tokens = std::move(bytes), .held_out = {}, .shuffle = shuffle_of_rest()};
  }

  // Of a source whose documents are in their final order.
  DataShuffle shuffle_of_rest() const {
    if (data_.shuffle == DataShuffle::Auto) return DataShuffle::Windows;
    return data_.shuffle == DataShuffle::Documents ? DataShuffle::Blocks : data_.shuffle;
  }

  void refuse_documents(const char* what, const char* advice) const {
    if (data_.shuffle == DataShuffle::Documents)
      throw user_error("data.shuffle is documents, but those of {} are not shuffled here", what)
          .at("data.shuffle")
          .help(fmt::format("use windows or blocks; for text: {}", advice));
    if (data_.deduplicate)
      throw user_error("data.deduplicate is set, but documents of {} are not compared", what)
          .at("data.deduplicate")
          .help(fmt::format("leave it out; for text: {}", advice));
  }

  const Config& config_;
  const DataConfig& data_;
  const ModelConfig& model_;
  const DataProgress& progress_;
  TrainingData& opened_;
};

std::vector<OpenedSource> open_sources(const SourceOpener& opener, const DataConfig& data) {
  const double share = data.held_out_path.empty() ? data.held_out : 0;
  std::vector<OpenedSource> sources;
  if (data.source != DataSource::Mixture) {
    sources.push_back(opener.open(data.source, data.path, share));
    return sources;
  }
  for (const auto& [path, unused] : data.mixture) try {
      sources.push_back(opener.open(source_of_path(path), path, share));
    } catch (UserError& error) {
      throw UserError(error).at("data.mixture");
    }
  return sources;
}

std::unique_ptr<SampleSource> train_sampler(const Config& config, const OpenedSource& source,
                                            double share, uint64_t seed) {
  const int64_t seq = config.train.seq;
  const double last = source.held_out ? 0 : share;
  if (source.shuffle == DataShuffle::Windows)
    return std::make_unique<TokenSampler>(
        *source.tokens, TokenSamplerOptions{.seq = seq,
                                            .seed = seed,
                                            .held_out = last,
                                            .document_mask = config.data.document_mask,
                                            .split = Split::Train});
  StreamSamplerOptions options{.seq = seq,
                               .seed = seed,
                               .document_mask = config.data.document_mask,
                               .shuffles = source.shuffle == DataShuffle::Blocks};
  if (last > 0) {
    const auto border = source.tokens->held_out_begin();
    const int64_t all = source.tokens->num_tokens();
    options.end = border ? *border : all - held_out_tokens(all, last, seq);
  }
  return std::make_unique<StreamSampler>(*source.tokens, options);
}

std::unique_ptr<SampleSource> held_out_sampler(const Config& config, const TokenSource& tokens,
                                               bool all, double share, uint64_t seed) {
  if (all)
    return std::make_unique<StreamSampler>(
        tokens, StreamSamplerOptions{.seq = config.train.seq,
                                     .seed = seed,
                                     .document_mask = config.data.document_mask,
                                     .shuffles = false});
  return std::make_unique<TokenSampler>(
      tokens, TokenSamplerOptions{.seq = config.train.seq,
                                  .seed = seed,
                                  .held_out = share,
                                  .document_mask = config.data.document_mask,
                                  .split = Split::HeldOut});
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

std::unique_ptr<SampleSource> mix(const Config& config,
                                  std::vector<std::unique_ptr<SampleSource>> samplers) {
  if (config.data.source != DataSource::Mixture) return std::move(samplers.front());
  return std::make_unique<Mixture>(std::move(samplers), weights_of(config.data),
                                   static_cast<uint64_t>(config.data.seed));
}

int64_t held_out_windows(const TokenSource& tokens, int64_t seq) {
  return (tokens.num_tokens() - 1 - tokens.held_out_begin().value_or(0)) / seq;
}

void open_samples(const Config& config, const SourceOpener& opener, TrainingData& data) {
  std::vector<OpenedSource> sources = open_sources(opener, config.data);
  const bool other = !config.data.held_out_path.empty();
  const double share = other ? 0 : config.data.held_out;
  const auto seed = static_cast<uint64_t>(config.data.seed);
  // Otherwise sources of the same size would have the same order.
  const RandomStream seeds(seed, "mixture_source");
  std::vector<std::unique_ptr<SampleSource>> train, held_out;
  for (OpenedSource& source : sources) {
    const uint64_t own =
        config.data.source == DataSource::Mixture ? seeds.bits(train.size()) : seed;
    train.push_back(train_sampler(config, source, share, own));
    if (share > 0)
      held_out.push_back(held_out_sampler(config,
                                          source.held_out ? *source.held_out : *source.tokens,
                                          source.held_out != nullptr, share, own));
    data.tokens.push_back(std::move(source.tokens));
    if (source.held_out) data.held_out_tokens.push_back(std::move(source.held_out));
  }
  data.train = mix(config, std::move(train));
  if (share > 0) data.held_out = mix(config, std::move(held_out));
  const bool chats = config.data.source == DataSource::Chat;
  if (chats && share > 0)
    data.held_out_samples = held_out_windows(*data.tokens.front(), config.train.seq);
  if (!other) return;
  const std::string& path = config.data.held_out_path;
  try {
    const DataSource kind = chats ? DataSource::Chat : source_of_path(path);
    data.held_out_tokens.push_back(std::move(opener.open(kind, path, 0).tokens));
  } catch (UserError& error) {
    throw UserError(error).at("data.held_out_path");
  }
  const TokenSource& tokens = *data.held_out_tokens.back();
  data.held_out = held_out_sampler(config, tokens, true, 0, seed);
  if (chats) data.held_out_samples = held_out_windows(tokens, config.train.seq);
}

}  // namespace

TrainingData open_training_data(const Config& config, const ModelConfig& model, DType precision,
                                const DataProgress& progress) {
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
  open_samples(config, SourceOpener(config, model, progress, data), data);
  return data;
}

}  // namespace tessera
