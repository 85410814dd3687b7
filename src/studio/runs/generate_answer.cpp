// SPDX-License-Identifier: Apache-2.0
// The question `generate`: text that the newest checkpoint of a run writes, a part for each token;
// a page that no longer listens ends it before the next token.
#include <chrono>

#include "core/utf8_stream.h"
#include "inference/stored_writer.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/order_of_run.h"
#include "studio/runs/run_folders.h"
#include "studio/runs/written_text.h"
#include "system/seconds_since.h"

namespace tessera {
Answer answer_generate(const Question& question) {
  allowed_runs(question);
  require_known_fields(question.fields,
                       {"run", "prompt", "tokens", "temperature", "top_k", "top_p", "seed"});
  const FoundRun run = asked_run_folder(question, "run");
  const GenerateOptions options = asked_choice(question.fields);
  const std::string prompt = find_text(question.fields, "prompt").value_or("\n");
  if (prompt.empty())
    throw UserError("the prompt is empty").at("prompt").help("give at least one character");
  if (!run.folder.folder("checkpoints"))
    throw UserError("the run has no checkpoint yet").at(run.name).help("wait until it has saved");
  const StoredWriter writer({.from = run.path.string()});
  const TokenText& tokens = writer.words();
  const std::vector<int32_t> first = tokens.encode(prompt);
  const auto generator = writer.generator(
      window_for(static_cast<int64_t>(first.size()) + options.tokens, writer.config().train.seq));
  const auto tell = [&](const Json& part) { return !question.tell || question.tell(part); };
  const int64_t step = writer.stored().facts().position.step;
  if (!tell({{"step", step}, {"prompt", prompt}})) return {.json = Json::object()};
  Utf8Stream text;
  int64_t written = 0;
  auto begin = std::chrono::steady_clock::now();
  generator->generate(first, options, [&](int32_t token) {
    const double seconds = seconds_since(begin);
    begin = std::chrono::steady_clock::now();
    ++written;
    return tell({{"token", token}, {"text", text.add(tokens.show(token))}, {"seconds", seconds}});
  });
  return {.json = {{"text", text.rest()}, {"tokens", written}, {"step", step}}};
}

}  // namespace tessera
