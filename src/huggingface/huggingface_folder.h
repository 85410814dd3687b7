// SPDX-License-Identifier: Apache-2.0
// A model in a Hugging Face folder, read like a checkpoint that has only weights: tensors have our
// names and shapes, and are converted to our layout on demand, one at a time.
#pragma once

#include "checkpoint/state_source.h"
#include "huggingface/tensor_map.h"
#include "huggingface/weight_files.h"

namespace tessera {

// It has a config.json, and no files of a Tessera run.
bool is_huggingface_folder(const std::filesystem::path& path);

class HuggingFaceFolder : public StateSource {
 public:
  // Checks that every tensor exists, with the shape that config.json implies, and no others.
  explicit HuggingFaceFolder(std::filesystem::path where);

  const CheckpointFacts& facts() const override { return facts_; }
  std::string digest() const override;  // of all bytes of its weights
  const ModelConfig& model() const { return model_; }
  bool half() const { return half_; }             // some weights are float16 in the files
  int64_t left_out() const { return left_out_; }  // tensors of layers that predict further tokens

 private:
  void for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                        const Overlap& f) const override;
  // As transformers would load it; null if it does not exist.
  const SafetensorsTensor* find(const std::string& theirs) const;
  std::span<const std::byte> bytes_of(const std::string& theirs) const;
  void check_tensors(const TensorMap& map) const;
  void check_nothing_else(const TensorMap& map);

  ModelConfig model_;
  WeightFiles files_;
  CheckpointFacts facts_;
  bool half_ = false;
  int64_t left_out_ = 0;
  std::map<std::string, std::vector<Patch>> patches_;  // by our name
  // The tensor that was read last: all ranks of a process read it in turn.
  mutable std::string prepared_name_, widened_name_;
  mutable std::vector<std::byte> prepared_, widened_;
};

}  // namespace tessera
