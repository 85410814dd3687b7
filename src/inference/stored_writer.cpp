// SPDX-License-Identifier: Apache-2.0
#include "inference/stored_writer.h"

#include <algorithm>

#include "chat/chat_files.h"
#include "config/run_spec.h"
#include "core/error.h"
#include "exec/device.h"
#include "huggingface/tokenizer_files.h"

namespace tessera {
namespace {

// The config that the model was trained with, on these ranks instead of those.
Config config_for(const WriterOptions& options, const StateSource& stored) {
  Config config = with_mesh(config_of(stored), {});
  config.train.threads = options.threads;
  config.train.batch = config.train.microbatches = 1;
  if (!options.mesh.empty()) config.mesh = parse_mesh(options.mesh);
  for (const Axis& axis : config.mesh)
    if (axis.name != "tp" && axis.size > 1)
      throw user_error("text is written over tp alone, but the mesh has {} = {}", axis.name,
                       axis.size)
          .help("--mesh tp=2, or one rank");
  return config;
}

// What comes with the weights: of adapters without a tokenizer, what comes with their base.
std::filesystem::path folder_of(const StoredWriter& writer) {
  const std::filesystem::path own = tokenizer_folder(writer.stored().path());
  const std::string& base = writer.config().lora.base;
  std::error_code ignored;
  const bool has_none = !std::filesystem::exists(own / "tokenizer.json", ignored) &&
                        !std::filesystem::exists(own / "chat_template.jinja", ignored);
  return has_none && !base.empty() ? tokenizer_folder(base) : own;
}

std::vector<int32_t> ends_of(const StoredWriter& writer) {
  std::vector<int32_t> ends = text_ends(folder_of(writer));
  if (const Tokenizer* tokenizer = writer.words().tokenizer())
    if (const std::optional<int32_t> end = tokenizer->document_end()) ends.push_back(*end);
  return ends;
}

// A stored model's context may be far longer than what a person writes in a sitting, and its cache
// larger than the memory.
int64_t window_of(const StoredChatOptions& options, const StoredWriter& writer) {
  constexpr int64_t kLongest = 8192, kShortest = 16;
  const ModelConfig& model = writer.model();
  const bool rotates = row_of(model.family).has_rope;
  const bool trained_here = writer.stored().facts().position.step > 0;
  const int64_t known = trained_here ? writer.config().train.seq : model.context;
  if (options.window == 0) return std::min(known, kLongest);
  if (options.window < kShortest || (!rotates && options.window > model.context))
    throw user_error("the window is {} tokens", options.window)
        .help(rotates ? fmt::format("give at least {}", kShortest)
                      : fmt::format("give {} to {}, for which the model has positions", kShortest,
                                    model.context));
  return options.window;
}

const StoredWriter& that_has_words(const StoredWriter& writer) {
  if (!writer.words().is_text())
    throw user_error("{} has no tokenizer, and its vocabulary of {} tokens is not that of bytes",
                     writer.stored().path().string(), writer.model().vocabulary)
        .help("name the tokenizer.json of its training with --tokenizer");
  return writer;
}

}  // namespace

StoredWriter::StoredWriter(WriterOptions options) : options_(std::move(options)) {
  require_device(options_.device);
  stored_ = open_stored_model(options_.from, options_.base);
  config_ = config_for(options_, *stored_);
  model_ = resolve_model(config_);
  if (!model_.has_sequence())
    throw user_error("a model of family {} cannot write text", name(model_.family))
        .help(fmt::format("train one of {}", families_with(&FamilyRow::has_sequence)));
  if (options_.averaged && config_.train.ema_decay <= 0)
    throw user_error("the checkpoint has no moving average")
        .help("train with train.ema_decay, or leave out --averaged");
  words_ =
      std::make_unique<TokenText>(tokenizer_of(*stored_, options_.tokenizer), model_.vocabulary);
}

std::unique_ptr<TextGenerator> StoredWriter::generator(int64_t window, int64_t texts) const {
  Plan plan = resolve(config_).plan;
  const int threads = std::max(1, resolve_threads(config_) / plan.mesh.num_ranks());
  auto generator = std::make_unique<TextGenerator>(model_, resolve_precision(config_).compute,
                                                   GeneratorOptions{.window = window,
                                                                    .texts = texts,
                                                                    .threads = threads,
                                                                    .device = options_.device,
                                                                    .plan = std::move(plan)});
  stored_->load_weights(generator->executor(), options_.averaged);
  return generator;
}

StoredChat::StoredChat(const StoredChatOptions& options)
    : writer_(options.writer),
      template_(read_chat_template(folder_of(that_has_words(writer_)), writer_.words().tokenizer(),
                                   options.chat_template)),
      generator_(writer_.generator(window_of(options, writer_))),
      session_(*generator_, template_, writer_.words(), ends_of(writer_)) {
  if (options.chat_template.empty() && template_.origin() == "plain")
    note_ = fmt::format(
        "{} comes with no chat template, so it may never have been taught to answer: it continues "
        "the text \"User: ... Assistant:\"",
        writer_.stored().path().string());
}

}  // namespace tessera
