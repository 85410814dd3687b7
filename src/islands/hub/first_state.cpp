// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/first_state.h"

#include <algorithm>

#include "core/error.h"
#include "files/digest.h"

namespace tessera {

std::string digest_of(const OuterSnapshot& outer) {
  Digest digest;
  for (const auto* blobs : {&outer.parameters, &outer.momentum})
    for (const std::vector<std::byte>& blob : *blobs) digest.add(blob);
  return digest.text();
}

FirstState::FirstState(const Message& hello)
    : island_(hello.island),
      next_{.round = hello.round, .fragment = static_cast<int>(hello.fragment)},
      digest_(hello.digest),
      settings_(hello.settings),
      state_bytes_(hello.state_bytes),
      kinds_{BlobKind::Parameters} {
  if (settings_of(settings_).outer.optimizer == OuterOptimizer::Nesterov)
    kinds_.push_back(BlobKind::Momentum);
}

void FirstState::add(const Message& piece) {
  const auto fragment = static_cast<size_t>(piece.fragment);
  if (std::ranges::find(kinds_, piece.blob) == kinds_.end() || fragment >= state_bytes_.size() ||
      piece.size != state_bytes_[fragment])
    throw user_error("it sends another first state than it said")
        .help("use the same version of tessera for all islands and their hub");
  blobs_.try_emplace({piece.blob, piece.fragment}, piece.size, piece.digest)
      .first->second.add(piece);
}

bool FirstState::has_all() const {
  return blobs_.size() == kinds_.size() * state_bytes_.size() &&
         std::ranges::all_of(blobs_, [](const auto& each) { return each.second.has_all(); });
}

OuterSnapshot FirstState::take() {
  OuterSnapshot outer{.next = next_};
  // Ordered by kind, then by fragment.
  for (auto& [name, blob] : blobs_)
    (name.first == BlobKind::Parameters ? outer.parameters : outer.momentum).push_back(blob.take());
  if (digest_of(outer) != digest_)
    throw user_error("its first state was changed on its way: the digest differs")
        .help("see that each island has an index of its own");
  return outer;
}

}  // namespace tessera
