// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <algorithm>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/shard_file.h"
#include "checkpoint/side_tensor.h"
#include "checkpoint/single_file.h"
#include "comm/texts.h"
#include "files/digest.h"
#include "files/storage_error.h"

namespace tessera {

Checkpoint::Checkpoint(std::filesystem::path where) : StateSource(std::move(where)) {
  if (std::filesystem::is_directory(path())) {
    manifest_ = read_manifest(path());
    readers_.resize(manifest_.files.size());
  } else {
    readers_.push_back(std::make_unique<SafetensorsReader>(path()));
    manifest_ = manifest_of_single_file(*readers_.front());
  }
  index_tensors();
}

void Checkpoint::index_tensors() {
  std::map<std::string, int64_t> found;
  for (size_t file = 0; file < manifest_.files.size(); ++file)
    for (const StoredPiece& piece : manifest_.files[file].pieces) {
      add_tensor(piece.name, {piece.dtype, piece.shape});
      sources_[piece.name].push_back({file, &piece});
      found[piece.name] += piece.piece.elements();
    }
  for (const auto& [name, tensor] : tensors())
    if (found[name] != tensor.elements())
      throw user_error("{}: {} has {} elements, but its parts have {}", path().string(), name,
                       tensor.elements(), found[name]);
}

const SafetensorsReader& Checkpoint::reader(size_t file) const {
  if (!readers_[file])
    readers_[file] = std::make_unique<SafetensorsReader>(open_shard(path(), manifest_.files[file]));
  return *readers_[file];
}

void Checkpoint::verify(int part, int parts) const {
  if (!std::filesystem::is_directory(path())) return verify_single_file(*readers_.front());
  for (size_t file = static_cast<size_t>(part); file < manifest_.files.size();
       file += static_cast<size_t>(parts))
    verify_shard(path(), manifest_.files[file]);
}

void Checkpoint::for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                                  const Overlap& f) const {
  const Tensor& tensor = tensors().at(name);
  const int64_t element_bytes = size_bytes(tensor.dtype);
  for (const Source& source : sources_.at(name)) {
    int64_t at = 0;  // of the piece, in elements
    size_t i = 0;
    std::span<const std::byte> bytes;
    for (const Stretch& stretch : stretches_of(tensor.shape, source.piece->piece)) {
      while (i < wanted.size() && wanted[i].element + wanted[i].count <= stretch.element) ++i;
      for (size_t j = i; j < wanted.size() && wanted[j].element < stretch.element + stretch.count;
           ++j) {
        const int64_t begin = std::max(wanted[j].element, stretch.element);
        const int64_t end =
            std::min(wanted[j].element + wanted[j].count, stretch.element + stretch.count);
        if (bytes.empty()) bytes = reader(source.file).get(name).bytes;
        f(j, begin - wanted[j].element, end - begin,
          bytes.subspan(static_cast<size_t>((at + begin - stretch.element) * element_bytes),
                        static_cast<size_t>((end - begin) * element_bytes)));
      }
      at += stretch.count;
    }
  }
}

void Checkpoint::load_states(Executor& executor) const {
  const HostView& program = executor.program();
  for (const StateBuffer& state : program.states) {
    if (state.spec.in_base) continue;
    const Tensor& tensor = tensor_for(state, state.name);
    if (tensor.dtype != state.type.dtype)
      throw user_error("{}: {} is {}, but in this run it is {}", path().string(), state.name,
                       name(tensor.dtype), name(state.type.dtype))
          .help("resume with the train.precision that the checkpoint was written with");
  }
  for (const auto& [name, tensor] : tensors())
    if (!program.find_state(name) && !is_side_tensor(name))
      throw user_error("{} holds {}, which this run does not have", path().string(), name)
          .help(
              "resume with the model, precision and train.ema_decay that the checkpoint was "
              "written with");
  for (RankStates* rank : executor.rank_states())
    for (const StateBuffer& state : rank->program().states)
      if (!state.spec.in_base) load(*rank, state, state.name);
}

std::string Checkpoint::digest() const {
  if (!std::filesystem::is_directory(path())) return digest_of_single_file(*readers_.front());
  const std::string files = to_text(manifest_.files);
  return digest_of(std::as_bytes(std::span(files)));
}

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
std::string names_in(const std::filesystem::path& checkpoints, int64_t last_step) {
  const std::vector<StepFolder> steps = step_folders(checkpoints);
  std::string names;
  for (size_t i = steps.size(); i-- > 0;)
    if (steps[i].step <= last_step) names.append(steps[i].path.filename().string()).append("\n");
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
                         Communicator* peers, int64_t last_step) {
  NewestValid newest;
  std::string names = names_in(checkpoints, last_step);
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
