// SPDX-License-Identifier: Apache-2.0
#include "comm/local/story.h"

#include <algorithm>
#include <fstream>

namespace tessera {
namespace {

constexpr int64_t kTold = 5;  // collectives of each rank
constexpr const char* kDead = "is dead";

double seconds_ago(int64_t ns) { return static_cast<double>(steady_now_ns() - ns) * 1e-9; }

// Calls `see` with each entry that is left, newest first.
template <typename F>
void for_each_entry(const CollectiveRecord& record, F&& see) {
  const int64_t count = record.count();
  for (int64_t i = count; i-- > std::max<int64_t>(0, count - CollectiveRecord::kEntries);)
    see(record.at(i));
}

std::vector<int> waited_for(const LocalHub& hub, int rank) {
  std::vector<int> others;
  for_each_entry(hub.seat(rank).record, [&](const CollectiveEntry& entry) {
    if (CollectiveRecord::waits(entry)) others.push_back(entry.waits_for.load());
  });
  return others;
}

// As the system sees it: 'T' is stopped, 'Z' dead; 0 where that is not known.
char process_state(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() ? text[end + 2] : '\0';
}

bool is_stopped(const LocalHub& hub, int rank) {
  if (!hub.options().processes) return false;
  const char state = process_state(hub.seat(rank).process);
  return state == 'T' || state == 't';
}

std::string life_of(const LocalHub& hub, int rank) {
  const Seat& seat = hub.seat(rank);
  if (seat.life == Seat::Ended) return "has ended";
  if (!hub.options().processes) return "runs";
  if (is_stopped(hub, rank)) return fmt::format("is stopped (process {})", seat.process.load());
  const char state = process_state(seat.process);
  if (state == 'Z' || state == 'X' || state == '\0') return kDead;
  return "runs";
}

std::string entry_text(const CollectiveEntry& entry) {
  return fmt::format("{} over {}", full(entry.header), entry.group.data());
}

}  // namespace

int first_to_blame(const LocalHub& hub, int silent, int asking) {
  std::vector<int> seen{silent};
  for (size_t i = 0; i < seen.size(); ++i) {
    const std::vector<int> others = waited_for(hub, seen[i]);
    if (others.empty() || is_stopped(hub, seen[i])) return seen[i];
    for (const int other : others)
      if (other != asking && std::find(seen.begin(), seen.end(), other) == seen.end())
        seen.push_back(other);
  }
  return silent;
}

std::string doing(const LocalHub& hub, int rank) {
  std::string text = "which " + life_of(hub, rank);
  const int64_t step = hub.seat(rank).step;
  if (step >= 0) text += fmt::format(", at step {}", step);
  const CollectiveRecord& record = hub.seat(rank).record;
  if (record.count() > 0) {
    const CollectiveEntry& last = record.at(record.count() - 1);
    text += fmt::format(", {} {}", last.ended_ns == 0 ? "in" : "behind", brief(last.header));
  }
  return text;
}

std::string tell_story(const LocalHub& hub) {
  std::string text = "who waits for whom:\n";
  for (int rank = 0; rank < hub.options().ranks; ++rank) {
    bool waits = false;
    for_each_entry(hub.seat(rank).record, [&](const CollectiveEntry& entry) {
      if (!CollectiveRecord::waits(entry)) return;
      waits = true;
      text +=
          fmt::format("  rank {} waits for rank {} in {}, for {:.1f} s\n", rank,
                      entry.waits_for.load(), entry_text(entry), seconds_ago(entry.waits_since_ns));
    });
    if (!waits) text += fmt::format("  rank {} waits for nobody\n", rank);
  }
  text += "the last collectives of each:\n";
  const int guilty = hub.failed() ? hub.failure().guilty_rank : -1;
  for (int rank = 0; rank < hub.options().ranks; ++rank) {
    const Seat& seat = hub.seat(rank);
    const std::string life = life_of(hub, rank);
    text += fmt::format("  rank {} {}{}\n", rank,
                        life == kDead && rank != guilty ? "ended when it was told" : life,
                        seat.step < 0 ? "" : fmt::format(", at step {}", seat.step.load()));
    int64_t told = 0;
    for_each_entry(seat.record, [&](const CollectiveEntry& entry) {
      if (told++ >= kTold) return;
      const int64_t ended = entry.ended_ns;
      text += fmt::format(
          "    {}: {}\n", entry_text(entry),
          ended == 0 ? fmt::format("started {:.3f} s ago, in flight", seconds_ago(entry.started_ns))
                     : fmt::format("ended {:.3f} s ago", seconds_ago(ended)));
    });
  }
  return text;
}

}  // namespace tessera
