// SPDX-License-Identifier: Apache-2.0
// Adapters and the model that they were trained beside, as one source of states.
#pragma once

#include <memory>

#include "checkpoint/state_source.h"

namespace tessera {

class JoinedSource : public StateSource {
 public:
  // Tensors of the same name are those of `adapters`, which also says where it lies and what its
  // facts are.
  JoinedSource(std::unique_ptr<StateSource> adapters, std::unique_ptr<StateSource> base);

  const CheckpointFacts& facts() const override { return adapters_->facts(); }
  std::string digest() const override { return adapters_->digest(); }
  const StateSource& base() const { return *base_; }

 private:
  void for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                        const Overlap& f) const override;

  std::unique_ptr<StateSource> adapters_, base_;
};

}  // namespace tessera
