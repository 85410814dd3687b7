// SPDX-License-Identifier: Apache-2.0
// A model without adapters that computes what a model with them does: W + A B * alpha / rank takes
// the place of each weight W that has an adapter.
#pragma once

#include <map>
#include <vector>

#include "checkpoint/state_source.h"
#include "config/config.h"
#include "models/lora.h"
#include "models/model_config.h"

namespace tessera {

class MergedModel : public StateSource {
 public:
  // `adapted` must hold base and adapters, and outlive this. `averaged`: of the adapters, the
  // moving averages.
  MergedModel(const StateSource& adapted, bool averaged);

  const CheckpointFacts& facts() const override { return facts_; }
  std::string digest() const override { return {}; }  // no base of adapters
  const ModelConfig& model() const { return model_; }

 private:
  void for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                        const Overlap& f) const override;
  std::vector<std::byte> merged(const std::string& name) const;
  void add_product(const BlockAdapter& adapter, std::vector<double>& weights) const;
  std::vector<double> values_of(const std::string& parameter) const;

  const StateSource& adapted_;
  bool averaged_;
  LoraConfig lora_;
  ModelConfig model_;  // without adapters
  CheckpointFacts facts_;
  std::map<std::string, std::vector<BlockAdapter>> adapters_;  // by weight
  mutable std::string prepared_name_;
  mutable std::vector<std::byte> prepared_;
};

}  // namespace tessera
