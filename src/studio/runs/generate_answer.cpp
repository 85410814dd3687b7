// SPDX-License-Identifier: Apache-2.0
// The question `generate`: text that the newest checkpoint of a run writes, a part for each token;
// a page that no longer listens ends it before the next token.
#include <algorithm>
#include <chrono>

#include "config/run_spec.h"
#include "core/utf8.h"
#include "data/token_text.h"
#include "inference/stored_model.h"
#include "inference/text_generator.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/order_of_run.h"
#include "studio/runs/run_folders.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr int64_t kMostTokens = 4096;
constexpr double kHighestTemperature = 100;

GenerateOptions asked_options(const Json& fields) {
  GenerateOptions options;
  options.tokens = find_whole(fields, "tokens", {1, kMostTokens}).value_or(options.tokens);
  options.choice.top_k =
      find_whole(fields, "top_k", {0, int64_t{1} << 30}).value_or(options.choice.top_k);
  options.seed =
      static_cast<uint64_t>(find_whole(fields, "seed", {0, int64_t{1} << 50}).value_or(1));
  double& temperature = options.choice.temperature;
  temperature = find_number(fields, "temperature").value_or(temperature);
  if (temperature < 0 || temperature > kHighestTemperature)
    throw UserError("the temperature is out of bounds")
        .at("temperature")
        .help(fmt::format("give a number from 0 to {}", kHighestTemperature));
  return options;
}

// Whether more bytes could make it a character.
bool begins_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const size_t wanted = lead >= 0xf0 && lead <= 0xf4   ? 4
                        : lead >= 0xe0 && lead <= 0xef ? 3
                        : lead >= 0xc2 && lead <= 0xdf ? 2
                                                       : 1;
  return bytes.size() < wanted && std::ranges::all_of(bytes.substr(1), [](char byte) {
           return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
         });
}

// The bytes of tokens as UTF-8: a character may be spread over several tokens, and what is none
// becomes U+FFFD.
class TextOfTokens {
 public:
  std::string add(std::string_view bytes) {
    waiting_ += bytes;
    return take(/*all=*/false);
  }
  std::string rest() { return take(/*all=*/true); }

 private:
  std::string take(bool all) {
    std::string text;
    while (!waiting_.empty()) {
      const size_t valid = valid_prefix(waiting_);
      text += waiting_.substr(0, valid);
      waiting_.erase(0, valid);
      if (waiting_.empty() || (!all && begins_character(waiting_))) break;
      append_utf8(text, 0xfffd);
      waiting_.erase(0, 1);
    }
    return text;
  }

  std::string waiting_;
};

}  // namespace

Answer answer_generate(const Question& question) {
  allowed_runs(question);
  require_known_fields(question.fields,
                       {"run", "prompt", "tokens", "temperature", "top_k", "seed"});
  const FoundRun run = asked_run_folder(question, "run");
  const GenerateOptions options = asked_options(question.fields);
  const std::string prompt = find_text(question.fields, "prompt").value_or("\n");
  if (prompt.empty())
    throw UserError("the prompt is empty").at("prompt").help("give at least one character");
  if (!run.folder.folder("checkpoints"))
    throw UserError("the run has no checkpoint yet").at(run.name).help("wait until it has saved");
  const auto stored = open_stored_model(run.path.string());
  const Config config = config_of(*stored);
  const ModelConfig model = resolve_model(config);
  if (!model.has_sequence())
    throw user_error("a model of family {} cannot write text", name(model.family))
        .at(run.name)
        .help("choose a run of a language model, such as tiny");
  const TokenText tokens(tokenizer_of(*stored, ""), model.vocabulary);
  const std::vector<int32_t> first = tokens.encode(prompt);
  TextGenerator generator(
      model, resolve_precision(config).compute,
      {.window = window_for(static_cast<int64_t>(first.size()) + options.tokens, config.train.seq),
       .threads = resolve_threads(config)});
  stored->load_weights(generator.executor(), /*averaged=*/false);
  const auto tell = [&](const Json& part) { return !question.tell || question.tell(part); };
  const int64_t step = stored->facts().position.step;
  if (!tell({{"step", step}, {"prompt", prompt}})) return {.json = Json::object()};
  TextOfTokens text;
  int64_t written = 0;
  auto begin = std::chrono::steady_clock::now();
  generator.generate(first, options, [&](int32_t token) {
    const double seconds = seconds_since(begin);
    begin = std::chrono::steady_clock::now();
    ++written;
    return tell({{"token", token}, {"text", text.add(tokens.show(token))}, {"seconds", seconds}});
  });
  return {.json = {{"text", text.rest()}, {"tokens", written}, {"step", step}}};
}

}  // namespace tessera
