// SPDX-License-Identifier: Apache-2.0
// tessera collectives: what each collective does to a small tensor, before and after.
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "files/json.h"
#include "studio/collective_examples.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Rank r starts with the numbers 0 1 2 ... plus r, one per rank. A dot is a number that the\n"
    "collective does not change. Sums are computed in rank order.\n"
    "Examples:\n"
    "  tessera collectives --ranks 4\n"
    "  tessera collectives --ranks 2 --reduction max\n"
    "  tessera collectives --json";

struct CollectivesCommand {
  int ranks = 4;
  std::string reduction = "sum";
  bool json = false;
};

std::string numbers_text(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers)
    text += number == kUntouched ? fmt::format("{:>5}", ".") : fmt::format("{:>5g}", number);
  return text;
}

void print_all(const CollectiveExamples& examples) {
  const auto& before = examples.before;
  for (const ShownCollective& each : examples.collectives) {
    fmt::print("{}: {}\n", each.title, each.meaning);
    for (size_t rank = 0; rank < before.size(); ++rank)
      fmt::print("  rank {:<3}{}   ->{}\n", rank, numbers_text(before[rank]),
                 numbers_text(each.after[rank]));
  }
}

void run(const CollectivesCommand& command) {
  const CollectiveExamples examples =
      show_collectives(command.ranks, *reduction_from_name(command.reduction));
  if (command.json)
    print_json(to_json(examples));
  else
    print_all(examples);
}

}  // namespace

void add_collectives_command(Command app) {
  auto command = std::make_shared<CollectivesCommand>();
  const Command collectives =
      app.add_subcommand("collectives", "show what each collective does to a small tensor");
  collectives.footer(kFooter);
  collectives.add_option("--ranks", command->ranks, "number of ranks, as threads")
      .range(1, 64)
      .show_default();
  add_reduction_option(collectives, command->reduction);
  add_json_flag(collectives, command->json);
  collectives.on_run([command] { run(*command); });
}

}  // namespace tessera
