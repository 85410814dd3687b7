// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/joined_source.h"

#include "ir/optimizer.h"

namespace tessera {

// Of the base nothing but its best weights: its moments and averages are of another training.
JoinedSource::JoinedSource(std::unique_ptr<StateSource> adapters, std::unique_ptr<StateSource> base)
    : StateSource(adapters->path()), adapters_(std::move(adapters)), base_(std::move(base)) {
  for (const auto& [name, tensor] : adapters_->tensors()) add_tensor(name, tensor);
  for (const auto& [name, tensor] : base_->tensors())
    if (!is_companion(name) && !tensors().contains(name))
      add_tensor(name, base_->tensors().at(base_->origin_of(name, false)));
}

void JoinedSource::for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                                    const Overlap& f) const {
  if (adapters_->tensors().contains(name)) return pass_overlaps(*adapters_, name, wanted, f);
  pass_overlaps(*base_, base_->origin_of(name, false), wanted, f);
}

}  // namespace tessera
