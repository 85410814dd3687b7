// SPDX-License-Identifier: Apache-2.0
// The folder of a supervised run, as its supervisor sees it between two starts. An unreadable
// folder never counts as empty: a folder that cannot be read, or is no longer the run's folder, is
// checked again for a while and is then an error.
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
  // Creates the folder. `resumes`: the first start resumes the run in it. `run_id`: that of the
  // run, where it is known; else it is the resumed run's, or drawn.
  SupervisedFolder(std::filesystem::path out, bool resumes, double patience_seconds,
                   const std::string& run_id = "");

  const std::string& run_id() const { return run_id_; }

  struct Found {
    bool begun = false;        // the folder belongs to this run
    int64_t newest_step = -1;  // of the checkpoints to resume from; -1: none was ever saved
  };
  // A StorageError after `patience_seconds`.
  Found look();
  // Can be called any time during the run: what was saved must be known even if it becomes
  // unreadable later. Prints nothing.
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
  std::string first_run_;  // the run that owned the folder before; empty: none
  std::string run_id_;
  int64_t newest_seen_ = -1;
  std::chrono::steady_clock::time_point last_glance_ = {};
};

}  // namespace tessera
