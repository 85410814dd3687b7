// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/owned_pieces.h"
#include "checkpoint/shard_file.h"
#include "checkpoint/single_file.h"
#include "core/convert_elements.h"
#include "files/mapped_file.h"
#include "program/pieces.h"

namespace tessera {
namespace {

// Stretches of a rank's piece of a state, and where they lie in its arena.
struct Held {
  std::vector<Stretch> stretches;
  std::vector<int64_t> offsets;
  int64_t elements = 0;
};

Held held_by(const RankStates& rank, const StateBuffer& state) {
  Held held;
  for_each_piece(rank.program(), rank.rank(), state.type, state.placement, state.place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   held.stretches.push_back({element, count});
                   held.offsets.push_back(offset);
                   held.elements += count;
                 });
  return held;
}

}  // namespace

Checkpoint::Checkpoint(std::filesystem::path path) : path_(std::move(path)) {
  if (std::filesystem::is_directory(path_)) {
    const MappedFile file(path_ / kManifestName);
    manifest_ = parse_manifest(
        {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, file.path());
    readers_.resize(manifest_.files.size());
  } else {
    readers_.push_back(std::make_unique<SafetensorsReader>(path_));
    manifest_ = manifest_of_single_file(*readers_.front());
  }
  index_tensors();
}

void Checkpoint::index_tensors() {
  std::map<std::string, int64_t> found;
  for (size_t file = 0; file < manifest_.files.size(); ++file)
    for (const StoredPiece& piece : manifest_.files[file].pieces) {
      const auto [known, fresh] =
          tensors_.try_emplace(piece.name, Tensor{piece.dtype, piece.shape});
      if (!fresh && (known->second.dtype != piece.dtype || known->second.shape != piece.shape))
        throw user_error("{}: parts of {} differ in dtype or shape", path_.string(), piece.name);
      sources_[piece.name].push_back({file, &piece});
      found[piece.name] += piece.piece.elements();
    }
  for (const auto& [name, tensor] : tensors_)
    if (found[name] != tensor.elements())
      throw user_error("{}: {} has {} elements, its parts have {}", path_.string(), name,
                       tensor.elements(), found[name]);
}

const SafetensorsReader& Checkpoint::reader(size_t file) const {
  if (!readers_[file])
    readers_[file] = std::make_unique<SafetensorsReader>(open_shard(path_, manifest_.files[file]));
  return *readers_[file];
}

void Checkpoint::verify(int part, int parts) const {
  if (!std::filesystem::is_directory(path_)) return verify_single_file(*readers_.front());
  for (size_t file = static_cast<size_t>(part); file < manifest_.files.size();
       file += static_cast<size_t>(parts))
    verify_shard(path_, manifest_.files[file]);
}

// Calls f(i, skip, count, bytes): `count` elements, `skip` behind the begin of wanted[i], lie in
// `bytes`.
template <typename F>
void Checkpoint::for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                                  F&& f) const {
  const Tensor& tensor = tensors_.at(name);
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

std::vector<std::byte> Checkpoint::read_whole(const std::string& name) const {
  const Tensor& tensor = tensors_.at(name);
  const int64_t element_bytes = size_bytes(tensor.dtype);
  std::vector<std::byte> whole(static_cast<size_t>(tensor.elements() * element_bytes));
  for_each_overlap(name, {{0, tensor.elements()}},
                   [&](size_t, int64_t skip, int64_t, std::span<const std::byte> bytes) {
                     std::memcpy(whole.data() + skip * element_bytes, bytes.data(), bytes.size());
                   });
  return whole;
}

const Checkpoint::Tensor& Checkpoint::tensor_for(const StateBuffer& state,
                                                 const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw user_error("{} has no {}", path_.string(), name)
        .help("was it written by another model or optimizer?");
  if (found->second.shape != shape_of(state.type))
    throw user_error("{}: {} has shape [{}], the model has [{}]", path_.string(), name,
                     fmt::join(found->second.shape, ", "), fmt::join(shape_of(state.type), ", "))
        .help("resume with the model settings that the checkpoint was written with");
  return found->second;
}

void Checkpoint::load(RankStates& rank, const StateBuffer& state, const std::string& name) const {
  const Tensor& tensor = tensor_for(state, name);
  const Held held = held_by(rank, state);
  const int64_t element_bytes = size_bytes(state.type.dtype);
  int64_t loaded = 0;
  std::vector<std::byte> converted;
  for_each_overlap(name, held.stretches,
                   [&](size_t i, int64_t skip, int64_t count, std::span<const std::byte> bytes) {
                     loaded += count;
                     const int64_t offset = held.offsets[i] + skip * element_bytes;
                     if (tensor.dtype == state.type.dtype) {
                       rank.write_states(offset, bytes);
                       return;
                     }
                     converted.resize(static_cast<size_t>(count * element_bytes));
                     convert_elements(tensor.dtype, bytes, state.type.dtype, converted);
                     rank.write_states(offset, converted);
                   });
  if (loaded != held.elements)
    throw user_error("{}: the parts of {} do not make it whole", path_.string(), name);
}

void Checkpoint::load_states(Executor& executor) const {
  const HostView& program = executor.program();
  for (const StateBuffer& state : program.states) {
    const Tensor& tensor = tensor_for(state, state.name);
    if (tensor.dtype != state.type.dtype)
      throw user_error("{}: {} is {}, this run's is {}", path_.string(), state.name,
                       name(tensor.dtype), name(state.type.dtype))
          .help("resume with the train.precision that the checkpoint was written with");
  }
  for (const auto& [name, tensor] : tensors_)
    if (!program.find_state(name))
      throw user_error("{} holds {}, which this run has not", path_.string(), name)
          .help(
              "resume with the model, precision and train.ema_decay that the checkpoint was "
              "written with");
  for (RankStates* rank : executor.rank_states())
    for (const StateBuffer& state : rank->program().states) load(*rank, state, state.name);
}

void Checkpoint::load_parameters(Executor& executor, bool averaged) const {
  for (RankStates* rank : executor.rank_states())
    for (const StateBuffer& state : rank->program().states)
      load(*rank, state,
           averaged ? fmt::format("{}.{}", state.name, name(StateRole::Average)) : state.name);
}

}  // namespace tessera
