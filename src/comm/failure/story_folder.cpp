// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/story_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "comm/failure/failure_file.h"
#include "files/fresh_file.h"
#include "files/json_struct.h"
#include "files/list_folder.h"
#include "files/storage_error.h"
#include "system/seconds_since.h"

namespace tessera {

template <typename Visit>
void visit_fields(RankStory::Wait& wait, const Visit& visit) {
  visit("rank", wait.rank);
  visit("in", wait.in);
  visit("seconds", wait.seconds);
}

template <typename Visit>
void visit_fields(RankStory& story, const Visit& visit) {
  visit("life", story.life);
  visit("halted", story.halted);
  visit("step", story.step);
  visit("waits", story.waits);
  visit("where", story.where);
  visit("last", story.last);
}

template <typename Visit>
void visit_fields(StoryPart& part, const Visit& visit) {
  visit("rank", part.rank);
  visit("ranks", part.ranks);
  visit("time_ms", part.time_ms);
  visit("error", part.error);
  visit("guilty", part.guilty);
  visit("bad_input", part.bad_input);
  visit("first", part.first);
  visit("story", part.story);
}

namespace {

namespace fs = std::filesystem;

constexpr double kLongestTellingSeconds = 10;  // on a disk that has to be waited for
constexpr const char* kGone = "left nothing: it was killed, stopped or cut off";

fs::path parts_of(const fs::path& run) { return run / "story"; }
fs::path being_told(const fs::path& run) { return run / "story.tmp"; }
fs::path told(const fs::path& run) { return run / "story.old"; }
fs::path part_file(const fs::path& run, int rank) {
  return parts_of(run) / fmt::format("rank-{:05}.json", rank);
}

std::string as_text(const StoryPart& part) { return sorted(to_json(part)).dump(1); }

std::vector<StoryPart> read_parts(const fs::path& folder) {
  std::vector<StoryPart> parts;
  for (const fs::path& entry : list_folder(folder)) {
    if (entry.extension() != ".json") continue;
    std::ifstream file(entry);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    // Else the disk was full: the rank counts as one that has left nothing.
    if (StoryPart part; read_json(parse_json(text), part)) parts.push_back(std::move(part));
  }
  return parts;
}

// By rank.
std::vector<RankStory> stories_of(const std::vector<StoryPart>& parts) {
  std::vector<RankStory> stories(static_cast<size_t>(parts.front().ranks),
                                 RankStory{.life = kGone, .halted = true});
  for (const StoryPart& part : parts)
    if (part.rank >= 0 && part.rank < parts.front().ranks)
      stories[static_cast<size_t>(part.rank)] = part.story;
  return stories;
}

// The part that tells why the job failed: of who failed first, else of who gave up, else any.
const StoryPart& cause_in(const std::vector<StoryPart>& parts) {
  const auto place = [](const StoryPart& part) {
    return std::tuple(!part.first, part.error.empty(), part.time_ms, part.rank);
  };
  return *std::min_element(parts.begin(), parts.end(), [&](const StoryPart& a, const StoryPart& b) {
    return place(a) < place(b);
  });
}

std::string opening(const std::vector<StoryPart>& parts, const std::vector<RankStory>& stories) {
  const StoryPart& cause = cause_in(parts);
  std::string text = cause.error;
  int silent = cause.guilty;
  if (text.empty()) {
    text = fmt::format("rank {} {}", cause.rank, cause.story.life);
    const auto gone = std::find_if(stories.begin(), stories.end(),
                                   [](const RankStory& story) { return story.halted; });
    if (gone != stories.end()) silent = static_cast<int>(gone - stories.begin());
  }
  if (silent < 0 || static_cast<size_t>(silent) >= stories.size()) return text;
  const int blamed = first_to_blame(stories, silent, cause.rank);
  const RankStory& story = stories[static_cast<size_t>(blamed)];
  if (blamed == cause.guilty && !story.halted) return text;
  return fmt::format("{}; all of it hangs on rank {}, {}", text, blamed, doing(story));
}

// Whether this process is the one to tell: the one that moves the folder away.
bool begin_to_tell(const fs::path& run) {
  std::error_code error;
  fs::rename(parts_of(run), being_told(run), error);
  return !error;
}

void tell(const fs::path& run) {
  std::vector<StoryPart> parts;
  try {
    parts = read_parts(being_told(run));
  } catch (const StorageError&) {
    return;  // they stay, and the next start tells them
  }
  const bool worth_it = std::any_of(parts.begin(), parts.end(),
                                    [](const StoryPart& part) { return !part.bad_input; });
  if (worth_it) {
    const std::vector<RankStory> stories = stories_of(parts);
    write_failure_file(run, opening(parts, stories), stories);
  }
  // At once, since a part of the story would make another one.
  std::error_code ignored;
  fs::rename(being_told(run), told(run), ignored);
  fs::remove_all(told(run), ignored);
}

}  // namespace

void open_story(const fs::path& run) {
  tell_left_story(run);
  std::error_code ignored;  // a run without a story is still a run
  fs::create_directories(parts_of(run), ignored);
}

void leave_part(const fs::path& run, const StoryPart& part) {
  std::error_code error;
  if (!fs::is_directory(parts_of(run), error)) return;
  // Not flushed to disk: that may take longer than this process has left. Without room for it, or
  // with the story told meanwhile, what brought the rank here matters more.
  const fs::path file = part_file(run, part.rank);
  const fs::path partial = file.string() + ".tmp";
  const std::string text = as_text(part);
  const int stream = open_fresh_file(partial);
  if (stream < 0) return;
  const bool whole = ::write(stream, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(stream);
  if (whole) fs::rename(partial, file, error);
}

void tell_left_story(const fs::path& run) {
  std::error_code ignored;
  fs::remove_all(told(run), ignored);
  if (fs::exists(being_told(run), ignored)) tell(run);
  if (begin_to_tell(run)) tell(run);
}

void tell_story_together(const fs::path& run) {
  if (begin_to_tell(run)) return tell(run);
  std::error_code ignored;
  const auto begin = std::chrono::steady_clock::now();
  while (fs::exists(being_told(run), ignored) && seconds_since(begin) < kLongestTellingSeconds)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void close_story(const fs::path& run) {
  std::error_code ignored;
  fs::remove_all(parts_of(run), ignored);
}

}  // namespace tessera
