// SPDX-License-Identifier: Apache-2.0
#include "studio/runs/kept_chat.h"

#include "checkpoint/checkpoint_folder.h"
#include "core/error.h"

namespace tessera {

void KeptChat::use(const std::filesystem::path& run, const std::function<void(StoredChat&)>& f) {
  const std::lock_guard lock(mutex_);
  const std::vector<StepFolder> steps = step_folders(checkpoints_of(run));
  if (steps.empty())
    throw UserError("the run has no checkpoint yet").help("wait until it has saved");
  const std::filesystem::path& newest = steps.back().path;
  std::error_code ignored;
  const auto written = std::filesystem::last_write_time(newest / kManifestName, ignored);
  if (!chat_ || newest != newest_ || written != written_) {
    chat_.reset();  // before its memory is needed again
    chat_ = std::make_unique<StoredChat>(StoredChatOptions{.writer = {.from = run.string()}});
    newest_ = newest;
    written_ = written;
  }
  f(*chat_);
}

}  // namespace tessera
