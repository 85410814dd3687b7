// SPDX-License-Identifier: Apache-2.0
// tessera collectives: what each collective does to a small tensor, before and after.
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "comm/communicator.h"
#include "comm/local/run_ranks.h"
#include "files/json.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Rank r starts with the numbers 0 1 2 ... plus r, one per rank. A dot is a number that the\n"
    "collective does not change. Sums are computed in rank order.\n"
    "Examples:\n"
    "  tessera collectives --ranks 4\n"
    "  tessera collectives --ranks 2 --reduction max\n"
    "  tessera collectives --json";

constexpr float kUntouched = -1e30f;

struct CollectivesCommand {
  int ranks = 4;
  std::string reduction = "sum";
  bool json = false;
};

using Rows = std::vector<std::vector<float>>;  // by rank

struct Shown {
  std::string name, meaning;
  Rows after;
};

// One rank's part in showing a collective: gets its numbers, returns what it holds afterwards.
using Act = std::vector<float> (*)(Communicator& group, Reduction reduction,
                                   std::vector<float> numbers);

std::byte* bytes(std::vector<float>& numbers) {
  return reinterpret_cast<std::byte*>(numbers.data());
}

// `parts_in` and `parts_out`: whether that side has a part per rank or is all of it one part.
template <CollectiveKind kind, bool parts_in, bool parts_out>
std::vector<float> act(Communicator& group, Reduction reduction, std::vector<float> numbers) {
  const int64_t part = parts_in || parts_out ? 1 : group.size();
  const size_t written = parts_out ? numbers.size() : static_cast<size_t>(part);
  std::vector<float> result(written, kUntouched);
  const bool root = group.rank() == 0;
  const bool reads = root || (kind != CollectiveKind::Broadcast && kind != CollectiveKind::Scatter);
  const bool writes = root || (kind != CollectiveKind::Gather && kind != CollectiveKind::Reduce);
  group.run({.kind = kind,
             .reduction = reduction,
             .input = reads ? bytes(numbers) : nullptr,
             .input_parts = contiguous_parts(reads ? part : 0),
             .output = writes ? bytes(result) : nullptr,
             .output_parts = contiguous_parts(writes ? part : 0),
             .name = "numbers"});
  return result;
}

std::vector<float> reduce_scatter_then_all_gather(Communicator& group, Reduction reduction,
                                                  std::vector<float> numbers) {
  std::vector<float> part =
      act<CollectiveKind::ReduceScatter, true, false>(group, reduction, std::move(numbers));
  part.resize(static_cast<size_t>(group.size()));
  return act<CollectiveKind::AllGather, false, true>(group, reduction, std::move(part));
}

std::vector<float> send_to_the_next(Communicator& group, Reduction /*reduction*/,
                                    std::vector<float> numbers) {
  const int size = group.size(), rank = group.rank();
  if (size == 1) return numbers;
  std::vector<float> result(numbers.size(), kUntouched);
  const Ticket sent = group.start({.kind = CollectiveKind::Send,
                                   .input = bytes(numbers),
                                   .input_parts = contiguous_parts(size),
                                   .root = (rank + 1) % size,
                                   .name = "numbers"});
  const Ticket received = group.start({.kind = CollectiveKind::Recv,
                                       .output = bytes(result),
                                       .output_parts = contiguous_parts(size),
                                       .root = (rank + size - 1) % size,
                                       .name = "numbers"});
  group.wait(sent);
  group.wait(received);
  return result;
}

struct Row {
  const char* name;
  const char* meaning;
  bool reduces;
  Act act;
};
using Kind = CollectiveKind;
constexpr Row kRows[] = {
    {"broadcast", "all ranks get the numbers of rank 0", false, act<Kind::Broadcast, false, false>},
    {"scatter", "rank r gets number r of rank 0", false, act<Kind::Scatter, true, false>},
    {"gather", "rank 0 gets the first number of each", false, act<Kind::Gather, false, true>},
    {"reduce", "rank 0 gets the {} over all ranks", true, act<Kind::Reduce, false, false>},
    {"all_gather", "all ranks get the first number of each", false,
     act<Kind::AllGather, false, true>},
    {"reduce_scatter", "rank r gets number r of the {}", true,
     act<Kind::ReduceScatter, true, false>},
    {"all_reduce", "all ranks get the {} over all ranks", true, act<Kind::AllReduce, false, false>},
    {"reduce_scatter + all_gather", "the same as all_reduce", true, reduce_scatter_then_all_gather},
    {"all_to_all", "rank r gets number r of each", false, act<Kind::AllToAll, true, true>},
    {"send, recv", "each rank sends to the next one", false, send_to_the_next},
};

std::vector<Shown> show_all(int ranks, Reduction reduction, Rows& before) {
  std::vector<Shown> shown;
  for (const Row& row : kRows) {
    const std::string title =
        row.reduces ? fmt::format("{} ({})", row.name, name(reduction)) : row.name;
    shown.push_back({title, fmt::format(fmt::runtime(row.meaning), name(reduction)),
                     Rows(static_cast<size_t>(ranks))});
  }
  before.resize(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](RankWorld& world) {
    const auto group = world.everyone("all");
    const auto rank = static_cast<size_t>(world.rank());
    std::vector<float> numbers(static_cast<size_t>(ranks));
    std::iota(numbers.begin(), numbers.end(), static_cast<float>(rank));
    before[rank] = numbers;
    for (size_t i = 0; i < shown.size(); ++i)
      shown[i].after[rank] = kRows[i].act(*group, reduction, numbers);
  });
  return shown;
}

std::string numbers_text(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers)
    text += number == kUntouched ? fmt::format("{:>5}", ".") : fmt::format("{:>5g}", number);
  return text;
}

void print_all(const Rows& before, const std::vector<Shown>& shown) {
  for (const Shown& each : shown) {
    fmt::print("{}: {}\n", each.name, each.meaning);
    for (size_t rank = 0; rank < before.size(); ++rank)
      fmt::print("  rank {:<3}{}   ->{}\n", rank, numbers_text(before[rank]),
                 numbers_text(each.after[rank]));
  }
}

Json to_json(const CollectivesCommand& command, const Rows& before,
             const std::vector<Shown>& shown) {
  Json json{{"ranks", command.ranks}, {"reduction", command.reduction}, {"before", before}};
  for (size_t i = 0; i < shown.size(); ++i) {
    Json after;
    for (const std::vector<float>& numbers : shown[i].after) {
      Json row = Json::array();
      for (const float number : numbers)
        row.push_back(number == kUntouched ? Json() : Json(number));
      after.push_back(row);
    }
    json["collectives"].push_back(
        {{"name", kRows[i].name}, {"meaning", shown[i].meaning}, {"after", after}});
  }
  return json;
}

void run(const CollectivesCommand& command) {
  Rows before;
  const std::vector<Shown> shown =
      show_all(command.ranks, *reduction_from_name(command.reduction), before);
  if (command.json)
    print_json(to_json(command, before, shown));
  else
    print_all(before, shown);
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
