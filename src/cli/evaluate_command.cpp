// SPDX-License-Identifier: Apache-2.0
// tessera evaluate: the loss of a stored model on given tokens and labels.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "cli/commands.h"
#include "cli/evaluate_choices.h"
#include "cli/progress_bar.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "data/chat_source.h"
#include "data/json_samples.h"
#include "data/training_data.h"
#include "files/json.h"
#include "inference/evaluate_model.h"
#include "inference/stored_model.h"
#include "inference/text_samples.h"
#include "train/continued_config.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "MODEL is a checkpoint, the output folder of a run, or a Hugging Face folder. DATA is:\n"
    "  *.bin    token shards\n"
    "  *.json   {\"tokens\": [[5, 9, 2], ...], \"labels\": [[9, 2, -1], ...]}: a label is the\n"
    "           token that should come next, a negative one is ignored; default: the next tokens.\n"
    "           A row is a sample; with --seq N longer rows are read in windows of N\n"
    "  *.jsonl  of conversations ({\"messages\": [...]}): the loss of what data.chat_roles say, by "
    "default\n"
    "           the assistant's turns; data.source=text or chat says which it is\n"
    "  else     text, a file or a folder, read with the tokenizer.json next to the model, or as\n"
    "           bytes: every token except the first of a file is a label; also prints loss per "
    "byte\n"
    "With --choices, DATA is a .jsonl file of multiple-choice questions, one a line:\n"
    "  {\"context\": \"2 + 3 =\", \"choices\": [\" 5\", \" 6\"], \"answer\": 0}, those of ARC, or "
    "a\n"
    "  samples_*.jsonl of lm-evaluation-harness\n"
    "Examples:\n"
    "  tessera evaluate out notes.txt\n"
    "  tessera evaluate out questions.jsonl --choices --out scores.jsonl\n"
    "  tessera evaluate out \"shards/val_*.bin\" --samples 100 --batch 4 --mesh dp=2\n"
    "  tessera evaluate llama-3.2-1b tokens.json --precision fp32 --json";

bool reads_conversations(const EvaluateCommand& command) {
  return !command.run.names("data.source") && holds_conversations(command.data);
}

// The model's own settings and those of the command line; never the plan that it was trained with.
Config config_for(const EvaluateCommand& command, const StateSource& stored) {
  const Config trained = config_of(stored);
  std::vector<std::string> base = model_settings(resolve_model(trained), trained.lora);
  base.push_back("train.precision=" + trained.train.precision);
  base.push_back(fmt::format("train.batch={}", trained.train.batch));
  base.push_back(fmt::format("train.seq={}", trained.train.seq));
  base.push_back("data.held_out=0");
  if (!command.data.ends_with(".json")) base.push_back("data.path=" + command.data);
  if (reads_conversations(command)) base.emplace_back("data.source=chat");
  if (!command.tokenizer.empty()) base.push_back("data.tokenizer=" + command.tokenizer);
  Config config = load_config({}, command.run.all(), base);
  name_text_format(stored, config.data);
  return config;
}

// `bytes`: the text of the labels; 0: unknown.
void print(const EvaluateCommand& command, const Config& config, const Evaluation& evaluation,
           int64_t bytes) {
  const double per_byte = bytes > 0 ? evaluation.loss * static_cast<double>(evaluation.labels) /
                                          static_cast<double>(bytes)
                                    : 0;
  if (command.run.json) {
    Json json{{"model", command.from},
              {"data", command.data},
              {"mesh", to_string(Mesh(config.mesh))},
              {"precision", config.train.precision},
              {"seq", config.train.seq},
              {"samples", evaluation.samples},
              {"labels", evaluation.labels},
              {"loss", evaluation.loss},
              {"perplexity", std::exp(evaluation.loss)},
              {"seconds", evaluation.seconds},
              {"planned_bytes", evaluation.planned_bytes}};
    if (bytes > 0) {
      json["bytes"] = bytes;
      json["loss_per_byte"] = per_byte;
      json["bits_per_byte"] = per_byte / std::numbers::ln2;
    }
    print_json(json);
    return;
  }
  fmt::print("loss {:.6f}, perplexity {:.4f}: {} labels in {} sample{} of {}, {}, {:.1f} s\n",
             evaluation.loss, std::exp(evaluation.loss), evaluation.labels, evaluation.samples,
             evaluation.samples == 1 ? "" : "s", config.train.seq, config.train.precision,
             evaluation.seconds);
  if (bytes > 0)
    fmt::print("{:.6f} per byte ({:.4f} bits), over the {} bytes of the labels\n", per_byte,
               per_byte / std::numbers::ln2, bytes);
}

struct Samples {
  TrainingData data;  // what a sampler reads from
  std::unique_ptr<SampleSource> source;
  int64_t count = 0, seq = 0;
  int64_t bytes = 0;  // of text of the labels; 0: unknown
};

int64_t limited(const EvaluateCommand& command, size_t samples) {
  const auto all = static_cast<int64_t>(samples);
  return command.samples > 0 ? std::min(all, command.samples) : all;
}

// Rows keep their own length, unless one is given.
Samples open_json(const EvaluateCommand& command, const Config& config, const ModelConfig& model) {
  const int64_t seq = command.run.names("train.seq") ? config.train.seq : 0;
  auto rows = std::make_unique<RowSamples>(json_samples(command.data, model.vocabulary, seq));
  Samples samples{.data = {}, .source = {}, .count = limited(command, rows->rows().size())};
  samples.seq = rows->seq();
  samples.source = std::move(rows);
  return samples;
}

Samples open_text(const EvaluateCommand& command, const StateSource& stored, const Config& config,
                  const ModelConfig& model) {
  const TokenText words(tokenizer_of(stored, command.tokenizer), model.vocabulary);
  if (!words.is_text())
    throw user_error("{} is text, but there is no tokenizer.json next to {}", command.data,
                     stored.path().string())
        .help("give the model's tokenizer with --tokenizer, or give token shards (*.bin)");
  auto rows = std::make_unique<RowSamples>(
      text_samples(command.data, config.data.field, words, config.train.seq));
  Samples samples{.data = {}, .source = {}, .count = limited(command, rows->rows().size())};
  samples.seq = rows->seq();
  samples.bytes = label_bytes(*rows, samples.count, words);
  samples.source = std::move(rows);
  return samples;
}

// Token shards, and conversations.
Samples open_windows(const EvaluateCommand& command, const Config& config,
                     const ModelConfig& model) {
  Samples samples{.data = open_training_data(config, model, DType::Fp32), .source = {}};
  samples.seq = config.train.seq;
  samples.count = limited(
      command, static_cast<size_t>((samples.data.tokens.front()->num_tokens() - 1) / samples.seq));
  samples.source = std::move(samples.data.train);
  if (!command.run.json)
    for (const std::string& note : samples.data.notes) fmt::print(stderr, "{}\n", note);
  return samples;
}

void run(const EvaluateCommand& command) {
  if (command.choices) return evaluate_choices(command);
  const auto stored = open_stored_model(command.from, command.base);
  Config config = config_for(command, *stored);
  const ModelConfig model = resolve_model(config);
  if (!model.has_sequence())
    throw user_error("a model of family {} cannot read tokens", name(model.family))
        .help(fmt::format("evaluate one of {}", families_with(&FamilyRow::has_sequence)));
  const Samples samples = command.data.ends_with(".json") ? open_json(command, config, model)
                          : config.data.source == DataSource::Text
                              ? open_text(command, *stored, config, model)
                              : open_windows(command, config, model);
  config.train.seq = samples.seq;
  Evaluation evaluation;
  {
    ProgressBar bar("samples", samples.count, false);
    evaluation = evaluate_model(*stored, config, *samples.source, samples.count, command.averaged,
                                [&](int64_t done) { bar.show(done); });
  }
  print(command, config, evaluation, samples.bytes);
}

}  // namespace

void add_evaluate_command(Command app) {
  auto command = std::make_shared<EvaluateCommand>();
  const Command evaluate =
      app.add_subcommand("evaluate", "compute the loss of a stored model on given data");
  evaluate.footer(kFooter);
  evaluate.add_option("model", command->from, "the model to evaluate").required();
  evaluate.add_option("data", command->data, "the data to evaluate it on").required();
  add_settings(evaluate, command->run);
  add_step_forms(evaluate, command->run);
  add_short_form(evaluate, command->run, "--device", "run.device", "where to run, as for train");
  evaluate.add_option("--base", command->base,
                      "of adapters: where their base is now, if not where they name it");
  evaluate.add_option("--tokenizer", command->tokenizer,
                      "a tokenizer.json; default: the one next to the model");
  evaluate
      .add_option("--samples", command->samples,
                  "evaluate only the first N samples or questions; 0: all")
      .range(int64_t{0}, int64_t{1} << 40);
  evaluate.add_flag("--averaged", command->averaged, "use the moving average of the weights");
  const Option choices = evaluate.add_flag(
      "--choices", command->choices,
      "DATA holds multiple-choice questions: how often the right choice is likeliest");
  evaluate.add_option("--prefix", command->prefix, "with --choices: a text before every context")
      .type_name("TEXT")
      .needs(choices);
  evaluate
      .add_option("--out", command->out,
                  "with --choices: write a line for each question, as lm-evaluation-harness")
      .type_name("FILE")
      .needs(choices);
  evaluate.on_run([command] { run(*command); });
}

}  // namespace tessera
