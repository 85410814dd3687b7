// SPDX-License-Identifier: Apache-2.0
// The model that a page talks with, which stays loaded between its questions, and so does what the
// conversation has in the cache: one at a time, that of the run that was asked last.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>

#include "inference/stored_writer.h"

namespace tessera {

class KeptChat {
 public:
  // Calls `f` with the newest checkpoint of a run. Others wait until it returns.
  void use(const std::filesystem::path& run, const std::function<void(StoredChat&)>& f);

 private:
  std::mutex mutex_;
  std::filesystem::path newest_;  // of the run's checkpoints when it was loaded
  std::filesystem::file_time_type written_;
  std::unique_ptr<StoredChat> chat_;
};

}  // namespace tessera
