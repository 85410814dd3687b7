// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/convert.h"

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/single_file.h"
#include "core/convert_elements.h"
#include "files/folder.h"
#include "ir/optimizer.h"

namespace tessera {
namespace {

// A tensor to write, and the one it is made from.
struct Chosen {
  std::vector<StoredPiece> pieces;
  std::vector<std::string> origins;
};

void add(Chosen& chosen, const StateSource& from, const std::string& name,
         const std::string& origin, std::optional<DType> dtype) {
  const StateSource::Tensor& tensor = from.tensors().at(origin);
  chosen.pieces.push_back({.name = name,
                           .dtype = dtype.value_or(tensor.dtype),
                           .shape = tensor.shape,
                           .piece = whole_tensor(tensor.shape)});
  chosen.origins.push_back(origin);
}

Chosen choose(const StateSource& from, const ConvertOptions& options) {
  Chosen chosen;
  for (const auto& [name, tensor] : from.tensors()) {
    if (!options.weights)
      add(chosen, from, name, name, {});
    else if (!is_companion(name))
      add(chosen, from, name, from.origin_of(name, options.averaged), options.weights);
  }
  return chosen;
}

}  // namespace

bool to_one_file(const std::filesystem::path& to) { return to.extension() == ".safetensors"; }

std::filesystem::path convert_checkpoint(const StateSource& from, const std::filesystem::path& to,
                                         const ConvertOptions& options) {
  const Chosen chosen = choose(from, options);
  std::vector<std::byte> bytes;
  const PieceBytes bytes_of = [&](size_t i) {
    const StoredPiece& piece = chosen.pieces[i];
    const std::vector<std::byte> whole = from.read_whole(chosen.origins[i]);
    bytes.resize(static_cast<size_t>(piece.piece.elements() * size_bytes(piece.dtype)));
    convert_elements(from.tensors().at(chosen.origins[i]).dtype, whole, piece.dtype, bytes);
    return std::span<const std::byte>(bytes);
  };
  if (to_one_file(to)) {
    write_single_file(to, from.facts(), chosen.pieces, bytes_of);
    return to;
  }
  const std::filesystem::path folder = checkpoints_of(to);
  const int64_t step = from.facts().position.step;
  const std::filesystem::path partial = partial_folder(folder, step);
  make_folder(partial, "choose another folder");
  Manifest manifest{.facts = from.facts()};
  manifest.facts.run.clear();  // a copy does not belong to that run
  manifest.files.push_back(write_shard(partial, 0, chosen.pieces, bytes_of));
  write_file_atomically(partial / kManifestName, to_text(manifest));
  commit_step(folder, step);
  return step_folder(folder, step);
}

}  // namespace tessera
