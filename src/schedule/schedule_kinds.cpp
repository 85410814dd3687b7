// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule_kinds.h"

#include <string>
#include <utility>
#include <vector>

#include "core/choices.h"
#include "core/error.h"
#include "schedule/kinds/kinds.h"

namespace tessera {
namespace {

constexpr bool kSplit = true, kPlanned = true;
using enum MicrobatchRule;

constexpr ScheduleKind kKinds[] = {
    {"gpipe", 1, 1, !kSplit, !kPlanned, Any, "all forwards, then all backwards", gpipe},
    {"1f1b", 1, 1, !kSplit, kPlanned, Any, "a backward as soon as there is one, then a forward",
     one_f_one_b},
    {"interleaved_1f1b", 1, 0, !kSplit, kPlanned, MultipleOfRanks,
     "1f1b over several chunks per rank, in groups of microbatches", interleaved_1f1b},
    {"looped_bfs", 1, 0, !kSplit, !kPlanned, Any,
     "gpipe over several chunks per rank, one chunk after the other", looped_bfs},
    {"zb_h1", 1, 1, kSplit, kPlanned, Any,
     "1f1b with weight gradients put off to fill gaps, in 1f1b's memory", zb_h1},
    {"zb_h2", 1, 1, kSplit, kPlanned, TwiceTheRanks,
     "twice the forwards ahead: no gaps, in twice the memory", zb_h2},
    {"zb_v", 2, 2, kSplit, kPlanned, Any, "two chunks per rank in a V: no gaps, in 1f1b's memory",
     zb_v},
};

template <typename Fits>
std::vector<std::string> names_of(Fits&& fits) {
  std::vector<std::string> names;
  for (const ScheduleKind& kind : kKinds)
    if (fits(kind)) names.emplace_back(kind.name);
  return names;
}

// Tables beyond this are a slip of the keyboard, not a plan.
constexpr int64_t kMostActions = int64_t{1} << 20;

void check_sizes(const ScheduleKind& kind, int ranks, int chunks, int microbatches) {
  const std::pair<const char*, int> sizes[] = {
      {"ranks", ranks}, {"chunks", chunks}, {"microbatches", microbatches}};
  for (const auto& [what, size] : sizes)
    if (size < 1)
      throw user_error("schedule {} over {} {}", kind.name, size, what)
          .help(fmt::format("use 1 or more {}", what));
  if (!kind.takes_chunks(chunks))
    throw user_error("schedule {} has {} chunk{} per rank, not {}", kind.name, kind.most_chunks,
                     kind.most_chunks == 1 ? "" : "s", chunks)
        .help(fmt::format("use chunks = {}, or {}, which take any", kind.most_chunks,
                          join_choices(names_of(
                              [](const ScheduleKind& other) { return other.most_chunks == 0; }))));
  const int64_t most = kMostActions / 3 / ranks / chunks;
  if (microbatches > most)
    throw user_error("a schedule of {} ranks, {} chunks and {} microbatches is too long to list",
                     ranks, chunks, microbatches)
        .help(fmt::format("use at most {} microbatches", most));
}

}  // namespace

std::span<const ScheduleKind> schedule_kinds() { return kKinds; }

const ScheduleKind& schedule_kind(std::string_view name) {
  for (const ScheduleKind& kind : kKinds)  // the planner asks often, and never in other spellings
    if (kind.name == name) return kind;
  for (const ScheduleKind& kind : kKinds)
    if (same_word(kind.name, name)) return kind;
  const std::vector<std::string> names = names_of([](const ScheduleKind&) { return true; });
  const std::string nearest = nearest_name(name, names);
  if (!nearest.empty())
    throw user_error("there is no schedule {}: did you mean {}?", name, nearest)
        .help("`tessera schedule --help` lists all kinds");
  throw user_error("there is no schedule {}", name).help("use " + join_choices(names));
}

Schedule make_schedule(std::string_view kind, int ranks, int chunks, int microbatches) {
  const ScheduleKind& found = schedule_kind(kind);
  check_sizes(found, ranks, chunks, microbatches);
  return found.make(ranks, chunks, microbatches);
}

}  // namespace tessera
