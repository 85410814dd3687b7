// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <algorithm>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/shard_file.h"
#include "checkpoint/single_file.h"

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
    const Tensor& tensor = tensor_for(state, state.name);
    if (tensor.dtype != state.type.dtype)
      throw user_error("{}: {} is {}, but in this run it is {}", path().string(), state.name,
                       name(tensor.dtype), name(state.type.dtype))
          .help("resume with the train.precision that the checkpoint was written with");
  }
  for (const auto& [name, tensor] : tensors())
    if (!program.find_state(name))
      throw user_error("{} holds {}, which this run does not have", path().string(), name)
          .help(
              "resume with the model, precision and train.ema_decay that the checkpoint was "
              "written with");
  for (RankStates* rank : executor.rank_states())
    for (const StateBuffer& state : rank->program().states) load(*rank, state, state.name);
}

}  // namespace tessera
