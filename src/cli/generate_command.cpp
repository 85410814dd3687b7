// SPDX-License-Identifier: Apache-2.0
// tessera generate: text from a checkpoint.
#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "data/token_text.h"
#include "exec/device.h"
#include "files/json.h"
#include "inference/stop_text.h"
#include "inference/stored_model.h"
#include "inference/text_generator.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera generate out --prompt \"One sunny day, \"\n"
    "  tessera generate out/checkpoints/step-00000300 --tokens 500 --temperature 0\n"
    "  tessera generate out --temperature 1 --top-p 0.9 --seed 7 --stop \".\"\n"
    "  tessera generate out --prompt \"One \" --prompt \"Two \" --mesh tp=2\n"
    "  tessera generate out --device cuda --tokens 1000";

struct GenerateCommand {
  std::string from;
  std::vector<std::string> prompts{"\n"}, stops;
  std::string tokenizer, mesh, base;
  GenerateOptions options;
  int64_t threads = 0;
  std::string device = std::string(name(DeviceKind::Cpu));
  bool averaged = false, json = false;
};

DeviceKind device_of(const GenerateCommand& command) {
  const auto found = std::find(kDeviceNames.begin(), kDeviceNames.end(), command.device);
  return static_cast<DeviceKind>(found - kDeviceNames.begin());
}

// The config that the model was trained with, on this command's ranks instead of those.
Config config_for(const GenerateCommand& command, const StateSource& stored) {
  Config config = with_mesh(config_of(stored), {});
  config.train.threads = command.threads;
  config.train.batch = std::ssize(command.prompts);
  config.train.microbatches = 1;
  if (!command.mesh.empty()) config.mesh = parse_mesh(command.mesh);
  for (const Axis& axis : config.mesh)
    if (axis.name != "tp" && axis.size > 1)
      throw user_error("text is written over tp alone, but the mesh has {} = {}", axis.name,
                       axis.size)
          .help("--mesh tp=2, or one rank");
  return config;
}

void check(const GenerateCommand& command, const Config& config, const ModelConfig& model) {
  if (!model.has_sequence())
    throw user_error("a model of family {} cannot write text", name(model.family))
        .help(fmt::format("train one of {}", families_with(&FamilyRow::has_sequence)));
  if (command.averaged && config.train.ema_decay <= 0)
    throw user_error("the checkpoint has no moving average")
        .help("train with train.ema_decay, or leave out --averaged");
  for (const std::string& prompt : command.prompts)
    if (prompt.empty())
      throw user_error("the prompt is empty")
          .help("give at least one character, or leave out --prompt");
}

struct Written {
  std::string prompt, text;
  std::vector<int32_t> tokens;
  StopText stop;
};

// One text appears as it is written, several when all are done.
void show(const std::vector<Written>& texts) {
  for (size_t i = 0; i < texts.size(); ++i)
    fmt::print("{}--- text {} ---\n{}{}\n", i > 0 ? "\n" : "", i + 1, texts[i].prompt,
               texts[i].text);
}

void print_as_json(const GenerateCommand& command, const StateSource& stored, int64_t window,
                   const std::vector<Written>& texts, double seconds) {
  size_t tokens = 0;
  Json list = Json::array();
  for (const Written& text : texts) {
    tokens += text.tokens.size();
    list.push_back({{"prompt", text.prompt}, {"text", text.text}, {"tokens", text.tokens}});
  }
  Json json{{"step", stored.facts().position.step},
            {"window", window},
            {"device", command.device},
            {"seconds", seconds},
            {"tokens_per_second", static_cast<double>(tokens) / seconds}};
  if (texts.size() > 1) {
    json["texts"] = list;
  } else {
    json["prompt"] = texts.front().prompt;
    json["text"] = texts.front().text;
    json["tokens"] = texts.front().tokens;
  }
  print_json(json);
}

void run(const GenerateCommand& command) {
  const DeviceKind device = device_of(command);
  require_device(device);
  const auto stored = open_stored_model(command.from, command.base);
  const Config config = config_for(command, *stored);
  const ModelConfig model = resolve_model(config);
  check(command, config, model);
  const TokenText words(tokenizer_of(*stored, command.tokenizer), model.vocabulary);
  std::vector<Written> texts;
  std::vector<std::vector<int32_t>> prompts;
  size_t longest = 0;
  for (const std::string& prompt : command.prompts) {
    texts.push_back({.prompt = prompt, .text = {}, .tokens = {}, .stop = StopText(command.stops)});
    prompts.push_back(words.encode(prompt));
    longest = std::max(longest, prompts.back().size());
  }
  const int64_t window =
      window_for(static_cast<int64_t>(longest) + command.options.tokens, config.train.seq);
  TextGenerator generator(model, resolve_precision(config).compute,
                          {.window = window,
                           .texts = static_cast<int64_t>(texts.size()),
                           .threads = resolve_threads(config),
                           .device = device,
                           .plan = resolve(config).plan});
  stored->load_weights(generator.executor(), command.averaged);

  const bool streams = !command.json && texts.size() == 1;
  const auto put = [&](const std::string& text) {
    if (!streams) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  if (words.is_text()) put(command.prompts.front());
  const auto begin = std::chrono::steady_clock::now();
  generator.generate(prompts, command.options, [&](size_t i, int32_t token) {
    Written& written = texts[i];
    written.tokens.push_back(token);
    const std::string piece = written.stop.add(words.show(token));
    written.text += piece;
    put(piece);
    return !written.stop.stopped();
  });
  const double seconds = seconds_since(begin);
  for (Written& written : texts) {
    const std::string rest = written.stop.rest();
    written.text += rest;
    put(rest);
  }
  put("\n");
  if (command.json)
    print_as_json(command, *stored, window, texts, seconds);
  else if (!streams)
    show(texts);
}

}  // namespace

void add_generate_command(Command app) {
  auto command = std::make_shared<GenerateCommand>();
  const Command generate = app.add_subcommand("generate", "write text with a trained model");
  generate.footer(kFooter);
  generate
      .add_option("checkpoint", command->from,
                  "a checkpoint, the output folder of a run, or a Hugging Face folder")
      .required();
  generate.add_option("--base", command->base,
                      "of adapters: where their base is now, if not where they name it");
  generate.add_option("--prompt", command->prompts,
                      "text to continue; several are written together");
  generate.add_option("--stop", command->stops, "end a text before this one; may be repeated");
  generate.add_option("--tokenizer", command->tokenizer,
                      "a tokenizer.json; default: the one next to the model");
  generate.add_option("--tokens", command->options.tokens, "tokens to write")
      .range(int64_t{1}, int64_t{1} << 20);
  generate
      .add_option("--temperature", command->options.choice.temperature,
                  "0 takes the most likely token, 1 samples from the model's distribution")
      .range(0.0, 100.0);
  generate
      .add_option("--top-k", command->options.choice.top_k,
                  "sample from the k most likely tokens; 0: from all")
      .range(int64_t{0}, int64_t{1} << 30);
  generate
      .add_option(
          "--top-p", command->options.choice.top_p,
          "sample from the most likely tokens whose probabilities add up to this; 1: from all")
      .range(0.0, 1.0);
  generate.add_option("--mesh", command->mesh, "ranks by axis: tp=2; default: one rank");
  generate.add_option("--seed", command->options.seed, "seed for sampling");
  generate.add_option("--device", command->device, "where to run, as for train")
      .choices({kDeviceNames.begin(), kDeviceNames.end()});
  generate.add_option("--threads", command->threads, "threads; 0: all cores")
      .range(int64_t{0}, int64_t{1024});
  generate.add_flag("--averaged", command->averaged, "use the moving average of the weights");
  add_json_flag(generate, command->json);
  generate.on_run([command] { run(*command); });
}

}  // namespace tessera
