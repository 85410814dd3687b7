// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/newest_valid.h"

#include "checkpoint/checkpoint_folder.h"
#include "comm/texts.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

std::string agree(Communicator* peers, std::string mine) {
  if (!peers) return mine;
  const std::vector<std::string> all = gather_strings(*peers, std::move(mine));
  std::string first;
  for (const std::string& text : all)
    if (first.empty()) first = text;
  return broadcast_string(*peers, std::move(first));
}

// The first process's list, newest first, one name per line.
std::string names_in(const std::filesystem::path& checkpoints) {
  const std::vector<StepFolder> steps = step_folders(checkpoints);
  std::string names;
  for (size_t i = steps.size(); i-- > 0;)
    names.append(steps[i].path.filename().string()).append("\n");
  return names;
}

void refuse_of_others(const Checkpoint& checkpoint, const RunIdentity& run) {
  const CheckpointFacts& facts = checkpoint.facts();
  if (run.may_continue_from(facts)) return;
  throw user_error("{} does not belong to this run: it has {}, not {}", checkpoint.path().string(),
                   facts.run.empty() ? "no run id" : "the run id " + facts.run, run.id);
}

}  // namespace

NewestValid newest_valid(const std::filesystem::path& checkpoints, const RunIdentity* run,
                         Communicator* peers) {
  NewestValid newest;
  std::string names = names_in(checkpoints);
  if (peers) names = broadcast_string(*peers, std::move(names));
  const int part = peers ? peers->rank() : 0, parts = peers ? peers->size() : 1;
  std::string unread;  // one that exists, but cannot be read
  while (!names.empty()) {
    const size_t end = names.find('\n');
    const std::filesystem::path path = checkpoints / names.substr(0, end);
    names.erase(0, end + 1);
    std::string error;
    std::optional<Checkpoint> candidate;
    try {
      candidate.emplace(path);
      if (run) refuse_of_others(*candidate, *run);
      candidate->verify(part, parts);
    } catch (const UserError& wrong) {
      error = wrong.message();
      if (dynamic_cast<const StorageError*>(&wrong)) unread = error;
    }
    error = agree(peers, std::move(error));
    if (error.empty()) {
      newest.checkpoint = std::move(candidate);
      return newest;
    }
    newest.skipped.push_back(std::move(error));
  }
  unread = agree(peers, std::move(unread));
  if (!unread.empty())
    throw StorageError(unread, "no other checkpoint is valid: check the disk, and try again");
  return newest;
}

}  // namespace tessera
