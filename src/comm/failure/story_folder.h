// SPDX-License-Identifier: Apache-2.0
// The story of a job whose ranks share no memory: each leaves its part as a small file in
// `story/` of the run's folder, and whoever comes first tells it in `failure.txt`. The folder is
// there from the start of a job until then, so a rank that wakes up too late adds nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "comm/failure/rank_story.h"

namespace tessera {

struct StoryPart {
  int rank = 0, ranks = 1;
  int64_t time_ms = 0;     // of the system's clock
  std::string error = {};  // why it gave up; empty where it has not
  int guilty = -1;         // whom the error names
  bool bad_input = false;  // the error is the user's
  bool first = false;      // nobody had failed before, as far as the rank knows
  RankStory story = {};
};

// At the start of a job, by one rank: tells what an earlier one has left, and makes the folder.
void open_story(const std::filesystem::path& run);
// Again and again, where there is more to say. Without the folder nothing is left.
void leave_part(const std::filesystem::path& run, const StoryPart& part);
// Tells the story, says so on stderr, and removes the folder. Nothing where there are no parts, or
// all of them ended for bad input. For whoever is left when all ranks have ended: it also tells
// what a rank had begun to tell when it was killed.
void tell_left_story(const std::filesystem::path& run);
// The same by one of several ranks that are about to end: the first tells, and the others return
// when it is told, since the end of one may be the end of all.
void tell_story_together(const std::filesystem::path& run);
void close_story(const std::filesystem::path& run);  // all is well

}  // namespace tessera
