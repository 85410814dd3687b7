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
    "A text file is one document, a .jsonl file one document per line, under \"text\" or another\n"
    "--field; both may be packed by gzip or zstd. Each document is followed by the token that "
    "ends\n"
    "documents. Held-out documents go to OUT/held_out. Which are held out, and copies, go by the\n"
    "digest of the text, so that copies are never on both sides.\n"
    "Restarted with the same files, it continues where it was stopped. The shards are the same "
    "for\n"
    "any number of threads.\n"
    "Examples:\n"
    "  tessera tokenize books --tokenizer tokenizer.json --out tokens\n"
    "  tessera tokenize 'web/*.jsonl.zst' --deduplicate --shuffle --held-out 0.01 --out tokens\n"
    "  tessera tokenize a.jsonl b.jsonl --tokenizer llama3 --end '<|end_of_text|>' --out tokens\n"
    "  tessera train --set data.path='tokens/*.bin' --set model.vocabulary=32000";

struct TokenizeCommand {
  TokenizeOptions options;
  std::string tokenizer = "tokenizer.json", out = "tokens";
  int64_t shard_megabytes = 64, seed = 1;
  bool json = false;
};

std::string plural(int64_t number, const std::string& thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

Json to_json(const TokenizeCommand& command, const TokenizeResult& result) {
  return {{"out", command.out},
          {"bytes", result.bytes},
          {"tokens", result.tokens},
          {"held_out_tokens", result.held_out_tokens},
          {"documents", result.documents},
          {"held_out_documents", result.held_out_documents},
          {"duplicates", result.duplicates},
          {"shards", result.shards},
          {"kept_shards", result.kept_shards},
          {"vocabulary", result.vocabulary},
          {"document_end", result.document_end}};
}

void print(const TokenizeCommand& command, const TokenizeResult& result) {
  fmt::print("{} tokens of {} bytes in {} in {}", result.tokens + result.held_out_tokens,
             result.bytes, plural(result.shards, "shard"), command.out);
  if (result.kept_shards > 0) fmt::print(", {} of them already there", result.kept_shards);
  fmt::print("\n{}", plural(result.documents, "document"));
  if (result.held_out_documents > 0)
    fmt::print(", and {} held out with {} tokens", result.held_out_documents,
               result.held_out_tokens);
  if (result.duplicates > 0)
    fmt::print(", {} of others left out",
               result.duplicates == 1 ? "1 copy" : fmt::format("{} copies", result.duplicates));
  fmt::print(
      "\ntrain on them: --set data.path='{}/*.bin' --set data.document_end={} --set "
      "model.vocabulary={}",
      command.out, result.document_end, result.vocabulary);
  if (result.held_out_tokens > 0)
    fmt::print(" --set data.held_out_path='{}/held_out/*.bin'", command.out);
  if (command.options.tokens.documents.shuffle) fmt::print(" --set data.shuffle=blocks");
  fmt::print("\n");
}

void run(TokenizeCommand& command) {
  TokenizeOptions& options = command.options;
  options.tokens.tokenizer = command.tokenizer;
  options.tokens.documents.seed = static_cast<uint64_t>(command.seed);
  options.tokens.documents.threads = options.threads;
  options.tokens.shard_bytes = command.shard_megabytes * 1'000'000;
  options.out = command.out;
  ProgressBars bars;
  options.tokens.documents.progress = [&](int64_t done, int64_t all) {
    bars.show("reading", done, all);
  };
  options.progress = [&](int64_t done, int64_t all) { bars.show("tokens", done, all); };
  const TokenizeResult result = tokenize_corpus(options);
  if (command.json)
    print_json(to_json(command, result));
  else
    print(command, result);
}

void add_document_options(Command tokenize, TokenizeCommand& command) {
  DocumentOptions& documents = command.options.tokens.documents;
  tokenize.add_option("--field", documents.field,
                      "the field of a line of a .jsonl file that holds the document");
  tokenize.add_flag("--deduplicate", documents.deduplicate,
                    "of documents with the same text, take only the first");
  tokenize.add_flag("--shuffle", documents.shuffle,
                    "shuffle all documents; packed files are unpacked into OUT meanwhile");
  tokenize.add_option("--held-out", documents.held_out, "share of the documents to hold out")
      .range(0.0, 0.99);
  tokenize.add_option("--seed", command.seed, "seed of the shuffle and of what is held out")
      .range(int64_t{0}, int64_t{1} << 62);
}

}  // namespace

void add_tokenize_command(Command app) {
  auto command = std::make_shared<TokenizeCommand>();
  const Command tokenize =
      app.add_subcommand("tokenize", "convert text to token shards for training");
  tokenize.footer(kFooter);
  TokenFolderOptions& tokens = command->options.tokens;
  tokenize.add_option("paths", tokens.documents.paths, "text files, .jsonl files, folders, globs")
      .required();
  tokenize.add_option("--tokenizer", command->tokenizer, "a tokenizer.json, or a folder with one");
  tokenize.add_option("--out", command->out, "folder for the shards");
  add_document_options(tokenize, *command);
  tokenize.add_option("--end", tokens.document_end,
                      "the added token that ends documents; default: the tokenizer's own");
  tokenize.add_flag("--around", tokens.around,
                    "also write the special tokens that the tokenizer puts around a text");
  tokenize.add_option("--shard-mb", command->shard_megabytes, "megabytes of text per shard")
      .range(int64_t{1}, int64_t{4000});
  tokenize.add_option("--threads", command->options.threads, "threads; 0: all cores")
      .range(0, 1024);
  add_json_flag(tokenize, command->json);
  tokenize.on_run([command] { run(*command); });
}

}  // namespace tessera
