// SPDX-License-Identifier: Apache-2.0
#include "studio/collective_examples.h"

#include <numeric>

#include "comm/communicator.h"
#include "comm/local/run_ranks.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"

namespace tessera {
namespace {

using Rows = CollectiveExamples::Rows;

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

}  // namespace

CollectiveExamples show_collectives(int ranks, Reduction reduction) {
  CollectiveExamples examples{.ranks = ranks, .reduction = reduction};
  Rows& before = examples.before;
  std::vector<ShownCollective>& shown = examples.collectives;
  for (const Row& row : kRows) {
    const std::string title =
        row.reduces ? fmt::format("{} ({})", row.name, name(reduction)) : row.name;
    shown.push_back({row.name, title, fmt::format(fmt::runtime(row.meaning), name(reduction)),
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
  return examples;
}

Json to_json(const CollectiveExamples& examples) {
  const std::vector<ShownCollective>& shown = examples.collectives;
  Json json{{"ranks", examples.ranks},
            {"reduction", name(examples.reduction)},
            {"before", examples.before}};
  for (const ShownCollective& each : shown) {
    Json after;
    for (const std::vector<float>& numbers : each.after) {
      Json row = Json::array();
      for (const float number : numbers)
        row.push_back(number == kUntouched ? Json() : Json(number));
      after.push_back(row);
    }
    json["collectives"].push_back(
        {{"name", each.name}, {"meaning", each.meaning}, {"after", after}});
  }
  return json;
}

Answer answer_collectives(const Question& question) {
  require_known_fields(question.fields, {"ranks", "reduction"});
  const auto ranks = find_whole(question.fields, "ranks", {1, 16}).value_or(4);
  const std::string word = find_text(question.fields, "reduction").value_or("sum");
  const auto reduction = reduction_from_name(word);
  if (!reduction)
    throw user_error("there is no reduction {}", word)
        .at("reduction")
        .help("use sum, mean, min or max");
  return {to_json(show_collectives(static_cast<int>(ranks), *reduction))};
}

}  // namespace tessera
