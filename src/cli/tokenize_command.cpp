// SPDX-License-Identifier: Apache-2.0
// tessera tokenize: converts text to token shards for training.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/progress_bar.h"
#include "cli/run_options.h"
#include "data/tokenize_corpus.h"
#include "files/json.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "A text file is one document, a .jsonl file one document per line, under \"text\". Each\n"
    "document is followed by the token that ends documents. Restarted with the same files, it\n"
    "continues where it was stopped.\n"
    "The shards are the same for any number of threads.\n"
    "Examples:\n"
    "  tessera tokenize books --tokenizer tokenizer.json --out tokens\n"
    "  tessera tokenize a.jsonl b.jsonl --tokenizer llama3 --end '<|end_of_text|>' --out tokens\n"
    "  tessera train --set data.path='tokens/*.bin' --set model.vocabulary=32000";

struct TokenizeCommand {
  TokenizeOptions options;
  std::string tokenizer = "tokenizer.json", out = "tokens";
  int64_t shard_megabytes = 64;
  bool json = false;
};

void run(TokenizeCommand& command) {
  TokenizeOptions& options = command.options;
  options.tokenizer = command.tokenizer;
  options.out = command.out;
  options.shard_bytes = command.shard_megabytes * 1'000'000;
  std::unique_ptr<ProgressBar> bar;
  options.progress = [&](int64_t done, int64_t all) {
    if (!bar) bar = std::make_unique<ProgressBar>("tokens", all, true);
    bar->show(done);
  };
  const TokenizeResult result = tokenize_corpus(options);
  bar.reset();
  if (command.json) {
    const Json json{{"out", command.out},
                    {"bytes", result.bytes},
                    {"tokens", result.tokens},
                    {"shards", result.shards},
                    {"kept_shards", result.kept_shards},
                    {"vocabulary", result.vocabulary},
                    {"document_end", result.document_end}};
    print_json(json);
    return;
  }
  fmt::print("{} tokens of {} bytes in {} shard{} in {}", result.tokens, result.bytes,
             result.shards, result.shards == 1 ? "" : "s", command.out);
  if (result.kept_shards > 0) fmt::print(", {} of them already there", result.kept_shards);
  fmt::print(
      "\ntrain on them: --set data.path='{}/*.bin' --set data.document_end={} --set "
      "model.vocabulary={}\n",
      command.out, result.document_end, result.vocabulary);
}

}  // namespace

void add_tokenize_command(Command app) {
  auto command = std::make_shared<TokenizeCommand>();
  const Command tokenize =
      app.add_subcommand("tokenize", "convert text to token shards for training");
  tokenize.footer(kFooter);
  tokenize.add_option("paths", command->options.paths, "text files, .jsonl files, folders")
      .required();
  tokenize.add_option("--tokenizer", command->tokenizer, "a tokenizer.json, or a folder with one");
  tokenize.add_option("--out", command->out, "folder for the shards");
  tokenize.add_option("--end", command->options.document_end,
                      "the added token that ends documents; default: the tokenizer's own");
  tokenize.add_flag("--around", command->options.around,
                    "also write the special tokens that the tokenizer puts around a text");
  tokenize.add_option("--shard-mb", command->shard_megabytes, "megabytes of text per shard")
      .range(int64_t{1}, int64_t{4000});
  tokenize.add_option("--threads", command->options.threads, "threads; 0: all cores")
      .range(0, 1024);
  add_json_flag(tokenize, command->json);
  tokenize.on_run([command] { run(*command); });
}

}  // namespace tessera
