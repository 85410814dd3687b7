// SPDX-License-Identifier: Apache-2.0
#include "comm/local/story.h"

#include "comm/failure/failure_file.h"
#include "system/process_tree.h"

namespace tessera {
namespace {

void look_at_process(RankStory& story, int process, bool by_itself) {
  const char state = process_state(process);
  if (state == 'T' || state == 't') {
    story.life = fmt::format("is stopped (process {})", process);
    story.halted = true;
  } else if (state == 'Z' || state == 'X' || state == '\0') {
    story.life = by_itself ? "is dead" : "ended when it was told";
  }
}

}  // namespace

std::vector<RankStory> stories_of(const LocalHub& hub) {
  const int guilty = hub.failed() ? hub.failure().guilty_rank : -1;  // -1: no failure yet
  std::vector<RankStory> stories;
  for (int rank = 0; rank < hub.options().ranks; ++rank) {
    const Seat& seat = hub.seat(rank);
    RankStory& story = stories.emplace_back(story_of(seat.record, seat.steps.step));
    if (seat.life == Seat::Ended)
      story.life = "has ended";
    else if (hub.options().processes)
      look_at_process(story, seat.process, guilty < 0 || rank == guilty);
    else if (seat.life == Seat::Failed)
      story.life = "gave up";
  }
  return stories;
}

void tell_failure(const LocalHub& hub, const std::filesystem::path& run) {
  const Failure& failure = hub.failure();
  std::error_code ignored;
  if (failure.kind == Failure::User || !std::filesystem::exists(run, ignored)) return;
  write_failure_file(run, failure.text, stories_of(hub));
}

}  // namespace tessera
