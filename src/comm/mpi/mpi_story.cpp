// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/mpi_story.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>

#include "comm/failure/story_folder.h"
#include "system/start_threads.h"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kLook{20};
// A part is left twice: at once, and when the rank has had time to reach what it will wait in.
// mpirun kills a second after it has told ranks to end.
constexpr std::chrono::milliseconds kSecondPart{300};

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

MpiStory::MpiStory(MpiEngine& engine, const MpiOptions& options)
    : engine_(engine),
      run_(options.run_folder),
      told_to_end_(options.told_to_end),
      watch_(start_thread<std::jthread>([this](const std::stop_token& stop) { watch(stop); })) {}

void MpiStory::begin() {
  const std::lock_guard lock(mutex_);
  if (begun_ || run_.empty()) return;
  begun_ = true;
  if (engine_.rank() == 0) open_story(run_);
}

void MpiStory::watch(const std::stop_token& stop) {
  std::mutex nobody;
  std::condition_variable_any never;
  std::unique_lock lock(nobody);
  for (int left = 0; left < 2 && !stop.stop_requested();) {
    const bool told = told_to_end_ && told_to_end_();
    if (told || engine_.failure()) {
      leave(told ? "was told to end by SIGTERM" : "runs", nullptr);
      ++left;
    }
    never.wait_for(lock, stop, left > 0 ? kSecondPart : kLook, [] { return false; });
  }
}

void MpiStory::gave_up(const MpiFailure& why) { leave("gave up", &why); }

void MpiStory::leave(const std::string& life, const MpiFailure* why) {
  const std::lock_guard lock(mutex_);
  if (!begun_ || gave_up_) return;
  StoryPart part{.rank = engine_.rank(),
                 .ranks = engine_.size(),
                 .time_ms = now_ms(),
                 .story = story_of(engine_.record(), engine_.steps().step)};
  part.story.life = fmt::format("{} (process {})", life, getpid());
  if (why) {
    const std::optional<MpiFailure> known = engine_.failure();
    part.error = why->text;
    part.guilty = why->guilty_rank;
    part.bad_input = why->bad_input;
    part.first = !known || known->text == why->text;
    gave_up_ = true;
  }
  leave_part(run_, part);
}

void MpiStory::end(bool failed) {
  const std::lock_guard lock(mutex_);
  if (!begun_) return;
  if (!failed && engine_.rank() == 0) close_story(run_);
  // Before this rank ends: mpirun then wakes up those that are stopped, and kills the others.
  if (failed) tell_story_together(run_);
}

}  // namespace tessera
