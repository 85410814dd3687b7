// SPDX-License-Identifier: Apache-2.0
// The folder of a supervised run, as its supervisor sees it between two starts. What cannot be seen
// is never taken for not there: a folder that cannot be read, or is no longer the one that the run
// began in, is looked at again for a while and is then an error.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tessera {

class SupervisedFolder {
 public:
  // Makes the folder. `resumes`: the first start goes on with the run that it holds.
  SupervisedFolder(std::filesystem::path out, bool resumes, double patience_seconds);

  const std::string& run_id() const { return run_id_; }

  struct Found {
    bool begun = false;        // the folder is this run's by now
    int64_t newest_step = -1;  // of the checkpoints that it can go on from; -1: none was ever saved
  };
  // A StorageError when patience is at its end.
  Found look();
  // While the run is under way, as often as one likes: what was saved must be known once it cannot
  // be seen. Tells of nothing.
  void glance();

 private:
  struct Place {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const Place&) const = default;
  };
  Place place() const;
  Found look_once();
  int64_t newest_step(const struct RunIdentity& identity) const;
  std::string last_seen() const;

  std::filesystem::path out_;
  double patience_seconds_;
  Place first_place_;
  std::string first_run_;  // whose folder it was before; empty: nobody's
  std::string run_id_;
  int64_t newest_seen_ = -1;
  std::chrono::steady_clock::time_point last_glance_ = {};
};

}  // namespace tessera
