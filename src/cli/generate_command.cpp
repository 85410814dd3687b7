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
#include "inference/stored_model.h"
#include "inference/text_generator.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera generate out --prompt \"One sunny day, \"\n"
    "  tessera generate out/checkpoints/step-00000300 --tokens 500 --temperature 0\n"
    "  tessera generate out --temperature 1 --top-k 20 --seed 7\n"
    "  tessera generate out --device cuda --tokens 1000";

struct GenerateCommand {
  std::string from;
  std::string prompt = "\n";
  std::string tokenizer;
  GenerateOptions options;
  int64_t threads = 0;
  std::string device = std::string(name(DeviceKind::Cpu));
  bool averaged = false, json = false;
};

DeviceKind device_of(const GenerateCommand& command) {
  const auto found = std::find(kDeviceNames.begin(), kDeviceNames.end(), command.device);
  return static_cast<DeviceKind>(found - kDeviceNames.begin());
}

void run(const GenerateCommand& command) {
  const DeviceKind device = device_of(command);
  require_device(device);
  const auto stored = open_stored_model(command.from);
  Config config = config_of(*stored);
  config.train.threads = command.threads;
  const ModelConfig model = resolve_model(config);
  if (!model.has_sequence())
    throw user_error("a model of family {} cannot write text", name(model.family))
        .help(fmt::format("train one of {}", families_with(&FamilyRow::has_sequence)));
  if (command.averaged && config.train.ema_decay <= 0)
    throw user_error("the checkpoint has no moving average")
        .help("train with train.ema_decay, or leave out --averaged");
  if (command.prompt.empty())
    throw user_error("the prompt is empty")
        .help("give at least one character, or leave out --prompt");
  const TokenText words(tokenizer_of(*stored, command.tokenizer), model.vocabulary);
  const std::vector<int32_t> prompt = words.encode(command.prompt);
  const int64_t window =
      window_for(static_cast<int64_t>(prompt.size()) + command.options.tokens, config.train.seq);
  TextGenerator generator(model, resolve_precision(config).compute, window, resolve_threads(config),
                          device);
  stored->load_weights(generator.executor(), command.averaged);

  std::string text;
  std::vector<int32_t> tokens;
  if (!command.json && words.is_text()) fmt::print("{}", command.prompt);
  const auto begin = std::chrono::steady_clock::now();
  generator.generate(prompt, command.options, [&](int32_t token) {
    tokens.push_back(token);
    const std::string piece = words.show(token);
    text += piece;
    if (!command.json) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    }
    return true;
  });
  const double seconds = seconds_since(begin);
  if (command.json) {
    const Json json{{"prompt", command.prompt},
                    {"text", text},
                    {"tokens", tokens},
                    {"step", stored->facts().position.step},
                    {"window", window},
                    {"device", name(device)},
                    {"seconds", seconds},
                    {"tokens_per_second", static_cast<double>(tokens.size()) / seconds}};
    print_json(json);
  } else {
    fmt::print("\n");
  }
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
  generate.add_option("--prompt", command->prompt, "text to continue");
  generate.add_option("--tokenizer", command->tokenizer,
                      "a tokenizer.json; default: the one next to the model");
  generate.add_option("--tokens", command->options.tokens, "tokens to write")
      .range(int64_t{1}, int64_t{1} << 20);
  generate
      .add_option("--temperature", command->options.temperature,
                  "0 takes the most likely token, 1 samples from the model's distribution")
      .range(0.0, 100.0);
  generate
      .add_option("--top-k", command->options.top_k,
                  "sample from the k most likely tokens; 0: from all")
      .range(int64_t{0}, int64_t{1} << 30);
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
