// SPDX-License-Identifier: Apache-2.0
// tessera tokenizer train: a byte-level BPE vocabulary from text.
#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/progress_bar.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/tokenizer_writer.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "A text file is one document, a .jsonl file one document per line, under \"text\" or another\n"
    "--field; both may be packed by gzip or zstd. The same\n"
    "text gives the same file, with any number of threads: the most frequent pair of adjacent\n"
    "tokens becomes a token; ties go to the pair with the smaller ids.\n"
    "Examples:\n"
    "  tessera tokenizer train books --vocab 32000 --out tokenizer.json\n"
    "  tessera tokenizer train a.txt b.jsonl --vocab 8192 --like gpt2 --special '<|endoftext|>'";

struct TrainTokenizer {
  std::vector<std::string> paths;
  std::string field = "text";
  int64_t vocabulary = 0;
  std::string out = "tokenizer.json", like = "llama3";
  std::vector<std::string> special{"<|endoftext|>"};
  int threads = 0;
  bool json = false;
};

TokenizerSpec spec_of(const TrainTokenizer& command) {
  for (const std::string& text : command.special)
    if (text.size() < 2)
      throw user_error("the special token '{}' has {} bytes, but needs at least 2", text,
                       text.size())
          .help("use a text that no document contains, such as <|endoftext|>");
  TokenizerSpec spec = untrained_spec(command.special);
  const std::map<std::string, const char*> rules{
      {"gpt2", kGpt2Rule}, {"llama3", kLlama3Rule}, {"qwen", kQwenRule}};
  spec.steps.push_back({.pattern = rules.at(command.like)});
  spec.composes = command.like == "qwen";
  const auto least = static_cast<int64_t>(spec.tokens.size() + spec.added.size());
  if (command.vocabulary < least)
    throw user_error("a vocabulary of {} has no room for 256 bytes and {} special tokens",
                     command.vocabulary, spec.added.size())
        .help(fmt::format("use --vocab {} or more", least));
  return spec;
}

void run(const TrainTokenizer& command) {
  TokenizerSpec spec = spec_of(command);
  const Corpus corpus(command.paths, {.field = command.field});
  WordCounts words;
  {
    ProgressBar bar("reading", corpus.bytes(), true);
    words = count_words(corpus, Tokenizer(spec), command.threads,
                        [&](int64_t bytes) { bar.show(bytes); });
  }
  {
    ProgressBar bar("merging", command.vocabulary, false);
    train_bpe(spec, words, command.vocabulary, [&](int64_t tokens) { bar.show(tokens); });
  }
  write_file_atomically(command.out, to_tokenizer_json(spec));
  const size_t tokens = spec.tokens.size() + spec.added.size();
  if (command.json) {
    const Json json{{"out", command.out},
                    {"vocabulary", tokens},
                    {"merges", spec.merges.size()},
                    {"words", words.size()},
                    {"bytes", corpus.bytes()}};
    print_json(json);
    return;
  }
  fmt::print("{}: {} tokens from {} different words in {} bytes\n", command.out, tokens,
             words.size(), corpus.bytes());
  if (static_cast<int64_t>(tokens) < command.vocabulary)
    fmt::print("no pair of tokens occurs twice any more: more text gives more tokens\n");
}

}  // namespace

void add_tokenizer_train(Command tokenizer) {
  auto command = std::make_shared<TrainTokenizer>();
  const Command app = tokenizer.add_subcommand("train", "learn a vocabulary from text");
  app.footer(kFooter);
  app.add_option("paths", command->paths, "text files, .jsonl files, folders, globs").required();
  app.add_option("--field", command->field,
                 "the field of a line of a .jsonl file that holds the document");
  app.add_option("--vocab", command->vocabulary, "size of the vocabulary")
      .required()
      .range(int64_t{1}, int64_t{1} << 20);
  app.add_option("--out", command->out, "file to write");
  app.add_option("--like", command->like, "the model family whose rule splits text into words")
      .choices({"gpt2", "llama3", "qwen"});
  app.add_option("--special", command->special, "special tokens; the first ends documents");
  app.add_option("--threads", command->threads, "threads; 0: all cores").range(0, 1024);
  add_json_flag(app, command->json);
  app.on_run([command] { run(*command); });
}

}  // namespace tessera
