// SPDX-License-Identifier: Apache-2.0
// tessera generate: text from a checkpoint.
#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/writer_words.h"
#include "core/error.h"
#include "core/utf8_stream.h"
#include "files/json.h"
#include "inference/stop_text.h"
#include "record/progress.h"
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
  WriterWords words;
  std::vector<std::string> prompts{"\n"}, stops;
  int64_t tokens = GenerateOptions{}.tokens;
  bool json = false;
};

void check(const GenerateCommand& command) {
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

// A terminal gets whole characters, and none that would command it; a file gets every byte.
class ShownText {
 public:
  void put(std::string_view text) { write(in_terminal_ ? printable(characters_.add(text)) : text); }
  void end() {
    if (in_terminal_) write(printable(characters_.rest()));
    write("\n");
  }

 private:
  static void write(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  bool in_terminal_ = is_terminal(stdout);
  Utf8Stream characters_;
};

// One text appears as it is written, several when all are done.
void show(const std::vector<Written>& texts) {
  for (size_t i = 0; i < texts.size(); ++i) {
    fmt::print("{}--- text {} ---\n", i > 0 ? "\n" : "", i + 1);
    ShownText shown;
    shown.put(texts[i].prompt);
    shown.put(texts[i].text);
    shown.end();
  }
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
            {"device", command.words.device},
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
  const StoredWriter writer(command.words.options());
  check(command);
  const TokenText& words = writer.words();
  std::vector<Written> texts;
  std::vector<std::vector<int32_t>> prompts;
  size_t longest = 0;
  for (const std::string& prompt : command.prompts) {
    texts.push_back({.prompt = prompt, .text = {}, .tokens = {}, .stop = StopText(command.stops)});
    prompts.push_back(words.encode(prompt));
    longest = std::max(longest, prompts.back().size());
  }
  const int64_t window =
      window_for(static_cast<int64_t>(longest) + command.tokens, writer.config().train.seq);
  const auto generator = writer.generator(window, std::ssize(texts));

  const bool streams = !command.json && texts.size() == 1;
  ShownText shown;
  const auto put = [&](const std::string& text) {
    if (streams) shown.put(text);
  };
  if (words.is_text()) put(command.prompts.front());
  const auto begin = std::chrono::steady_clock::now();
  const GenerateOptions options{
      .tokens = command.tokens, .choice = command.words.choice, .seed = command.words.seed};
  generator->generate(prompts, options, [&](size_t i, int32_t token) {
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
  if (streams) shown.end();
  if (command.json)
    print_as_json(command, writer.stored(), window, texts, seconds);
  else if (!streams)
    show(texts);
}

}  // namespace

void add_generate_command(Command app) {
  auto command = std::make_shared<GenerateCommand>();
  const Command generate = app.add_subcommand("generate", "write text with a trained model");
  generate.footer(kFooter);
  add_writer_words(generate, command->words);
  generate
      .add_option("--prompt", command->prompts,
                  "text to continue; may be repeated: several are written together")
      .take_all();
  generate.add_option("--stop", command->stops, "end a text before this one; may be repeated")
      .take_all();
  generate.add_option("--tokens", command->tokens, "tokens to write")
      .range(int64_t{1}, int64_t{1} << 20);
  add_json_flag(generate, command->json);
  generate.on_run([command] { run(*command); });
}

}  // namespace tessera
