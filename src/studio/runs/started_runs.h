// SPDX-License-Identifier: Apache-2.0
// The runs that Studio itself has started, as child processes of its own binary: the only processes
// that a page can ask to stop, or one of whose ranks it can kill. A page names a run by its id, and
// never a process. When Studio ends, by Ctrl-C or otherwise, they save and stop.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "launch/own_child.h"

namespace tessera {

struct RunToStart {
  std::string id;
  std::filesystem::path folder;
  std::vector<std::string> words;  // of the command line, after the program
  int ranks = 1;
  bool supervised = false;  // ranks are processes, and are restarted when one dies
};

struct StartedRun {
  bool ended = false, stopping = false, supervised = false;
  int ranks = 1, code = 0;  // the code once it has ended
};

class StartedRuns {
 public:
  explicit StartedRuns(std::filesystem::path folder);
  ~StartedRuns();  // asks those that go on to stop, and waits for them
  StartedRuns(const StartedRuns&) = delete;
  StartedRuns& operator=(const StartedRuns&) = delete;

  const std::filesystem::path& folder() const { return folder_; }  // below which runs are made

  // Each is a UserError where it cannot be done.
  void require_room() const;  // for one more
  void require_ended(const std::string& id) const;
  void start(const RunToStart& run);
  void stop(const std::string& id, bool now);  // saves first, unless it is to end now
  void kill_rank(const std::string& id, int rank);
  // Nothing where this Studio did not start it.
  std::optional<StartedRun> find(const std::string& id) const;
  size_t count_running() const;

 private:
  struct Kept {
    std::unique_ptr<OwnChild> child;
    StartedRun run;
  };
  void keep_children();
  // With the lock held.
  size_t count() const;
  void check_room() const;
  void check_ended(const std::string& id) const;
  Kept& running(const std::string& id);

  std::filesystem::path folder_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::string, Kept> runs_;
  std::function<void()> order_;  // for the thread that starts children
  bool ended_ = false;
  std::thread keeper_;
};

}  // namespace tessera
