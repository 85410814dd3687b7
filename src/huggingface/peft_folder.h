// SPDX-License-Identifier: Apache-2.0
// Adapters in a folder of PEFT: adapter_config.json and adapter_model.safetensors. Read like a
// checkpoint that has only adapters, and written from one.
#pragma once

#include "checkpoint/state_source.h"
#include "config/config.h"
#include "files/safetensors.h"
#include "huggingface/peft_map.h"

namespace tessera {

bool is_peft_folder(const std::filesystem::path& path);

// The folder of the model that its adapters are of, as adapter_config.json names it; relative to
// the current folder, or else to the folder itself. A UserError where it names none.
std::string base_of_peft_folder(const std::filesystem::path& folder);

class PeftFolder : public StateSource {
 public:
  // `of_base`: the config of the model that the adapters are of, which lies in `base`. Checks that
  // every layer has the same adapters, with the shapes of the model, and that there is nothing
  // else.
  PeftFolder(std::filesystem::path where, Config of_base, const std::string& base);

  const CheckpointFacts& facts() const override { return facts_; }
  std::string digest() const override { return {}; }  // no base of adapters

 private:
  void for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                        const Overlap& f) const override;
  void check_tensors(const PeftMap& map) const;
  std::vector<std::byte> in_our_layout(const std::string& name) const;

  SafetensorsReader file_;
  CheckpointFacts facts_;
  std::map<std::string, Patch> patches_;  // by our name
};

struct PeftExport {
  std::optional<DType> dtype = {};  // none: as the most precise copy has it
  bool averaged = false;
  std::string base_name = {};  // base_model_name_or_path; empty: lora.base
};
struct PeftSummary {
  int64_t bytes = 0, tensors = 0;
};
PeftSummary export_peft_folder(const StateSource& from, const std::filesystem::path& folder,
                               const PeftExport& options);

}  // namespace tessera
