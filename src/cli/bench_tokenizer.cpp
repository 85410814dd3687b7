// SPDX-License-Identifier: Apache-2.0
// tessera bench tokenizer: megabytes of text per second that one core turns into tokens, and back.
#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "core/statistics.h"
#include "files/json.h"
#include "files/mapped_file.h"
#include "system/seconds_since.h"
#include "tokenizer/encoder.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Uses one thread. In the first pass the word cache is empty, in later ones it has the words\n"
    "of the text: the rate for a large corpus is between the two. Each rate is the median of\n"
    "the rounds.\n"
    "Examples:\n"
    "  tessera bench tokenizer gpt2/tokenizer.json book.txt";

struct BenchTokenizer {
  std::string tokenizer, text;
  int rounds = 5;
  bool json = false;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(const BenchTokenizer& command) {
  const Tokenizer tokenizer = read_tokenizer(command.tokenizer);
  const MappedFile file(command.text);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  if (text.empty()) throw user_error("{} is empty", command.text).help("give a text to encode");
  std::vector<double> first, later, back;
  std::vector<int32_t> ids;
  for (int round = 0; round < command.rounds; ++round) {
    Encoder encoder(tokenizer);
    for (std::vector<double>* seconds : {&first, &later}) {
      ids.clear();
      const auto begin = std::chrono::steady_clock::now();
      encoder.encode(text, ids);
      seconds->push_back(seconds_since(begin));
    }
    const auto begin = std::chrono::steady_clock::now();
    tokenizer.decode(ids);
    back.push_back(seconds_since(begin));
  }
  const auto rate = [&](const std::vector<double>& seconds) {
    return static_cast<double>(text.size()) / median(seconds);
  };
  const double per_token = static_cast<double>(text.size()) / static_cast<double>(ids.size());
  if (command.json) {
    const Json json{{"bytes", text.size()},
                    {"tokens", ids.size()},
                    {"bytes_per_token", per_token},
                    {"first_bytes_per_second", rate(first)},
                    {"later_bytes_per_second", rate(later)},
                    {"decode_bytes_per_second", rate(back)}};
    print_json(json);
    return;
  }
  fmt::print("{} bytes, {} tokens, {:.2f} bytes per token\n", text.size(), ids.size(), per_token);
  fmt::print("encode, first pass   {:>8.1f} MB/s\n", rate(first) / 1e6);
  fmt::print("encode, later passes {:>8.1f} MB/s\n", rate(later) / 1e6);
  fmt::print("decode               {:>8.1f} MB/s\n", rate(back) / 1e6);
}

}  // namespace

void add_bench_tokenizer(Command bench) {
  auto command = std::make_shared<BenchTokenizer>();
  const Command app = bench.add_subcommand(
      "tokenizer", "speed of a tokenizer, in megabytes per second on one core");
  app.footer(kFooter);
  app.add_option("tokenizer", command->tokenizer, "a tokenizer.json, or a folder with one")
      .required();
  app.add_option("text", command->text, "a text file").required();
  app.add_option("--rounds", command->rounds, "times to measure").range(1, 1000);
  add_json_flag(app, command->json);
  app.on_run([command] { run(*command); });
}

}  // namespace tessera
