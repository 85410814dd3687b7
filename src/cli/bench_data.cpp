// SPDX-License-Identifier: Apache-2.0
// tessera bench data: how fast text is read, unpacked and turned into tokens, and how far ahead of
// a step the tokens stay.
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "data/batch_loader.h"
#include "data/stream_sampler.h"
#include "data/tokens_ahead.h"
#include "files/folder.h"
#include "files/json.h"
#include "files/text_reader.h"
#include "system/random_name.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Reads the texts three times: once to unpack them, on one thread; once to find the documents,\n"
    "with their digests; and once to make tokens of them, which a step then takes at a given "
    "rate.\n"
    "The last part ends with the text or after --seconds. The tokens lie in a temporary folder.\n"
    "Examples:\n"
    "  tessera bench data 'web/*.jsonl.gz' --tokenizer tokenizer.json\n"
    "  tessera bench data books --tokenizer gpt2 --threads 4 --rate 1000000 --seconds 20";

struct BenchData {
  std::vector<std::string> paths;
  std::string tokenizer, field = "text";
  int threads = 1;
  int64_t seq = 1024, batch = 8;
  double rate = 100'000;  // tokens per second of a step
  double seconds = 5;
  bool json = false;
};

struct ReadFigures {
  int64_t file_bytes = 0, text_bytes = 0;
  double seconds = 0;
};

ReadFigures time_reading(const BenchData& command) {
  ReadFigures figures;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<char> block(1 << 20);
  for (const std::string& path : command.paths)
    for (const auto& file : files_named(path)) {
      TextReader reader(file);
      while (reader.read(block) > 0) {
      }
      figures.file_bytes += reader.file_bytes();
      figures.text_bytes += reader.text_position();
    }
  figures.seconds = seconds_since(begin);
  return figures;
}

class TemporaryTokens {
 public:
  TemporaryTokens()
      : path_(std::filesystem::temp_directory_path() / ("tessera_" + random_name())) {}
  ~TemporaryTokens() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryTokens(const TemporaryTokens&) = delete;
  TemporaryTokens& operator=(const TemporaryTokens&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct StepFigures {
  int64_t steps = 0, late_steps = 0;  // late: a step that waited for its tokens, but the first
  double first_seconds = 0, waited_seconds = 0;
  int64_t least_ahead = 0;  // tokens that are ready when a step begins, after the first
};

// Takes batches as a step of the rate would.
StepFigures take_steps(const BenchData& command, const TokensAhead& tokens, int64_t all) {
  using Clock = std::chrono::steady_clock;
  constexpr double kLate = 1e-3;
  StepFigures figures{.least_ahead = INT64_MAX};
  const auto begin = Clock::now();
  const StreamSampler samples(tokens, {.seq = command.seq});
  BatchLoader loader(samples, command.batch, 0);
  const int64_t step_tokens = command.batch * command.seq;
  const std::chrono::duration<double> step(static_cast<double>(step_tokens) / command.rate);
  figures.first_seconds = loader.next().waited_seconds + seconds_since(begin);
  const auto first = Clock::now();
  auto due = first;
  while (seconds_since(first) < command.seconds && (figures.steps + 2) * step_tokens < all) {
    due += std::chrono::duration_cast<Clock::duration>(step);
    std::this_thread::sleep_until(due);
    const int64_t taken = ++figures.steps * step_tokens;
    figures.least_ahead = std::min(figures.least_ahead, tokens.made() - taken);
    const double waited = loader.next().waited_seconds;
    figures.late_steps += waited > kLate ? 1 : 0;
    figures.waited_seconds += waited;
  }
  return figures;
}

struct DataFigures {
  ReadFigures reading;
  double index_seconds = 0, token_seconds = 0;
  int64_t documents = 0, tokens = 0;
  StepFigures steps;

  // Bytes of text per second.
  double rate(double seconds) const { return static_cast<double>(reading.text_bytes) / seconds; }
};

TokenFolderOptions options_of(const BenchData& command) {
  TokenFolderOptions options;
  options.documents = {.paths = command.paths,
                       .field = command.field,
                       .deduplicate = true,
                       .threads = command.threads};
  options.tokenizer = command.tokenizer;
  options.shard_bytes = 8'000'000;
  return options;
}

DataFigures measure(const BenchData& command) {
  DataFigures figures{.reading = time_reading(command), .steps = {}};
  if (figures.reading.text_bytes == 0)
    throw user_error("{} holds no text", command.paths.front()).help("give text to read");
  {
    const TemporaryTokens temporary;
    auto begin = std::chrono::steady_clock::now();
    const TokenFolder folder(temporary.path(), options_of(command));
    figures.index_seconds = seconds_since(begin);
    figures.documents = static_cast<int64_t>(folder.index().train.size());
    TokenFolder::Writing writing;
    writing.threads = command.threads;
    begin = std::chrono::steady_clock::now();
    figures.tokens = folder.write(Split::Train, writing)->tokens;
    figures.token_seconds = seconds_since(begin);
  }
  const TemporaryTokens temporary;
  TokenFolderOptions options = options_of(command);
  options.documents.shuffle = true;
  const auto folder = std::make_shared<const TokenFolder>(temporary.path(), options);
  const TokensAhead tokens(folder, {.threads = command.threads});
  figures.steps = take_steps(command, tokens, figures.tokens);
  return figures;
}

Json to_json(const BenchData& command, const DataFigures& figures) {
  const StepFigures& steps = figures.steps;
  return {{"file_bytes", figures.reading.file_bytes},
          {"text_bytes", figures.reading.text_bytes},
          {"documents", figures.documents},
          {"tokens", figures.tokens},
          {"threads", command.threads},
          {"unpack_bytes_per_second", figures.rate(figures.reading.seconds)},
          {"index_bytes_per_second", figures.rate(figures.index_seconds)},
          {"tokenize_bytes_per_second", figures.rate(figures.token_seconds)},
          {"tokens_per_second", static_cast<double>(figures.tokens) / figures.token_seconds},
          {"step_tokens_per_second", command.rate},
          {"first_step_seconds", steps.first_seconds},
          {"steps", steps.steps},
          {"late_steps", steps.late_steps},
          {"waited_seconds", steps.waited_seconds},
          {"least_tokens_ahead", steps.steps > 0 ? Json(steps.least_ahead) : Json()}};
}

void run(const BenchData& command) {
  const DataFigures figures = measure(command);
  if (command.json) return print_json(to_json(command, figures));
  fmt::print("{} bytes of files, {} of text, {} documents, {} tokens; {} thread{}\n",
             figures.reading.file_bytes, figures.reading.text_bytes, figures.documents,
             figures.tokens, command.threads, command.threads == 1 ? "" : "s");
  fmt::print("read and unpack (1 thread)  {:>9.1f} MB/s of text\n",
             figures.rate(figures.reading.seconds) / 1e6);
  fmt::print("find documents              {:>9.1f} MB/s\n",
             figures.rate(figures.index_seconds) / 1e6);
  fmt::print("make tokens                 {:>9.1f} MB/s, {:.0f} tokens/s\n",
             figures.rate(figures.token_seconds) / 1e6,
             static_cast<double>(figures.tokens) / figures.token_seconds);
  const StepFigures& steps = figures.steps;
  fmt::print("steps of {:.0f} tokens/s: the first waits {:.2f} s", command.rate,
             steps.first_seconds);
  if (steps.steps > 0)
    fmt::print("; of {} after it {} wait, {:.3f} s in all; at least {} tokens are ready",
               steps.steps, steps.late_steps, steps.waited_seconds, steps.least_ahead);
  fmt::print("\n");
}

}  // namespace

void add_bench_data(Command bench) {
  auto command = std::make_shared<BenchData>();
  const Command app = bench.add_subcommand(
      "data", "speed of reading text and making tokens, and how far ahead of a step they stay");
  app.footer(kFooter);
  app.add_option("paths", command->paths, "text files, .jsonl files, folders, globs").required();
  app.add_option("--tokenizer", command->tokenizer, "a tokenizer.json, or a folder with one")
      .required();
  app.add_option("--field", command->field,
                 "the field of a line of a .jsonl file that holds the document");
  app.add_option("--threads", command->threads, "threads that make tokens").range(1, 1024);
  app.add_option("--seq", command->seq, "tokens per sample").range(int64_t{1}, int64_t{1} << 20);
  app.add_option("--batch", command->batch, "samples per step").range(int64_t{1}, int64_t{1} << 20);
  app.add_option("--rate", command->rate, "tokens per second that a step takes").range(1.0, 1e12);
  app.add_option("--seconds", command->seconds, "seconds of steps").range(0.1, 3600.0);
  add_json_flag(app, command->json);
  app.on_run([command] { run(*command); });
}

}  // namespace tessera
