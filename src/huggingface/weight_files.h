// SPDX-License-Identifier: Apache-2.0
// The safetensors of a Hugging Face folder: one file, or several with an index that says which
// tensor is where. Everything that the files claim is checked when they are opened.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "files/safetensors.h"

namespace tessera {

inline constexpr const char* kOneFile = "model.safetensors";
inline constexpr const char* kIndexFile = "model.safetensors.index.json";

class WeightFiles {
 public:
  explicit WeightFiles(const std::filesystem::path& folder);

  // By name; they live as long as this does.
  const std::map<std::string, const SafetensorsTensor*, std::less<>>& tensors() const {
    return tensors_;
  }
  const SafetensorsTensor* find(std::string_view name) const;  // null when absent

 private:
  void open_indexed(const std::filesystem::path& folder);

  std::map<std::string, SafetensorsReader, std::less<>> files_;  // by name
  std::map<std::string, const SafetensorsTensor*, std::less<>> tensors_;
};

}  // namespace tessera
