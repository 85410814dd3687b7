// SPDX-License-Identifier: Apache-2.0
// tessera evaluate: the loss of a stored model on given tokens and labels.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "huggingface/tokenizer_files.h"
#include "tokenizer/tokenizer_file.h"
#include "train/data/encoded_text.h"
#include "train/data/json_samples.h"
#include "train/data/token_sampler.h"
#include "train/evaluate_model.h"
#include "train/model_of_config.h"
#include "train/stored_model.h"
#include "train/training_data.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "MODEL is a checkpoint, the output folder of a run, or a folder of Hugging Face's. DATA is:\n"
    "  *.bin    token shards\n"
    "  *.json   {\"tokens\": [[5, 9, 2], ...], \"labels\": [[9, 2, -1], ...]}: a label is the "
    "token\n"
    "           that should follow, a negative one none; without labels the next tokens\n"
    "  else     text, read by the tokenizer.json beside the model, or as bytes\n"
    "Examples:\n"
    "  tessera evaluate out notes.txt\n"
    "  tessera evaluate out \"shards/val_*.bin\" --samples 100 --batch 4 --mesh dp=2\n"
    "  tessera evaluate llama-3.2-1b tokens.json --precision fp32 --json";

struct EvaluateCommand {
  std::string from, data;
  RunOptions run;
  int64_t samples = 0;
  bool averaged = false;
};

// The model's own, and what the command line says; never the plan that it was trained with.
Config config_for(const EvaluateCommand& command, const Config& trained) {
  std::vector<std::string> base = model_settings(model_of_config(trained));
  base.push_back("train.precision=" + trained.train.precision);
  base.push_back(fmt::format("train.batch={}", trained.train.batch));
  base.push_back(fmt::format("train.seq={}", trained.train.seq));
  base.push_back("data.held_out=0");
  if (!command.data.ends_with(".json")) base.push_back("data.path=" + command.data);
  return load_config({}, command.run.all(), base);
}

void print(const EvaluateCommand& command, const Config& config, const Evaluation& evaluation) {
  const Mesh mesh = Mesh(config.mesh);
  if (command.run.json) {
    const nlohmann::json json{{"model", command.from},
                              {"data", command.data},
                              {"mesh", to_string(mesh)},
                              {"precision", config.train.precision},
                              {"seq", config.train.seq},
                              {"samples", evaluation.samples},
                              {"labels", evaluation.labels},
                              {"loss", evaluation.loss},
                              {"perplexity", std::exp(evaluation.loss)},
                              {"seconds", evaluation.seconds}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("loss {:.6f}, perplexity {:.4f}: {} labels in {} sample{} of {}, {}, {:.1f} s\n",
             evaluation.loss, std::exp(evaluation.loss), evaluation.labels, evaluation.samples,
             evaluation.samples == 1 ? "" : "s", config.train.seq, config.train.precision,
             evaluation.seconds);
}

struct Samples {
  TrainingData data;  // what `source` reads from
  std::unique_ptr<SampleSource> source;
  int64_t count = 0, seq = 0;
};

Samples json_samples(const std::string& path, const ModelConfig& model) {
  auto rows = std::make_unique<JsonSamples>(path, model.vocabulary);
  Samples samples{.data = {}, .source = {}, .count = rows->samples(), .seq = rows->seq()};
  samples.source = std::move(rows);
  return samples;
}

// As the model's tokenizer reads it.
TrainingData open_text(const std::filesystem::path& tokenizer, const Config& config,
                       const ModelConfig& model) {
  TrainingData data;
  data.tokens.push_back(std::make_unique<EncodedText>(config.data.path, read_tokenizer(tokenizer)));
  const TokenSource& tokens = *data.tokens.front();
  if (tokens.vocabulary_size() > model.vocabulary)
    throw user_error("{} gives token {}, the model has a vocabulary of {}", tokenizer.string(),
                     tokens.vocabulary_size() - 1, model.vocabulary)
        .help("it is another model's tokenizer");
  data.train = std::make_unique<TokenSampler>(tokens, TokenSamplerOptions{.seq = config.train.seq});
  return data;
}

Samples token_samples(const StateSource& stored, const Config& config, const ModelConfig& model) {
  const auto tokenizer = tokenizer_folder(stored.path()) / "tokenizer.json";
  const bool text = config.data.source == "text", known = std::filesystem::exists(tokenizer);
  if (text && !known && model.vocabulary != 256)
    throw user_error("{} is text, and beside {} is no tokenizer.json", config.data.path,
                     stored.path().string())
        .help("put the model's there, or give token shards (*.bin)");
  Samples samples{.data = {}, .source = {}, .count = 0, .seq = config.train.seq};
  samples.data = text && known ? open_text(tokenizer, config, model)
                               : open_training_data(config, model, DType::Fp32);
  samples.count = (samples.data.tokens.front()->num_tokens() - 1) / samples.seq;
  samples.source = std::move(samples.data.train);
  return samples;
}

void run(const EvaluateCommand& command) {
  const auto stored = open_stored_model(command.from);
  Config config = config_for(command, config_of(*stored));
  const ModelConfig model = model_of_config(config);
  if (model.family == Family::Mlp)
    throw user_error("an mlp reads no tokens").help("evaluate a gpt, llama or qwen model");
  Samples samples = command.data.ends_with(".json") ? json_samples(command.data, model)
                                                    : token_samples(*stored, config, model);
  config.train.seq = samples.seq;
  if (command.samples > 0) samples.count = std::min(samples.count, command.samples);
  print(command, config,
        evaluate_model(*stored, config, *samples.source, samples.count, command.averaged));
}

}  // namespace

void add_evaluate_command(CLI::App& app) {
  auto command = std::make_shared<EvaluateCommand>();
  CLI::App* evaluate = app.add_subcommand("evaluate", "the loss of a stored model on given data");
  evaluate->footer(kFooter);
  evaluate->add_option("model", command->from, "what to evaluate")->required();
  evaluate->add_option("data", command->data, "what on")->required();
  add_settings(*evaluate, command->run);
  add_step_forms(*evaluate, command->run);
  add_short_form(*evaluate, command->run, "--device", "run.device", "where to run, as for train");
  evaluate->add_option("--samples", command->samples, "the first so many; 0: all")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  evaluate->add_flag("--averaged", command->averaged, "use the moving average of the weights");
  evaluate->callback([command] { run(*command); });
}

}  // namespace tessera
