// SPDX-License-Identifier: Apache-2.0
// The algorithm that each matrix product was measured to be fastest with, and the implementation
// that attention was, kept in a text file: what was chosen once is taken ever after, so that bits
// repeat and starting is quick. Copies share it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace tessera {

class AlgorithmFile {
 public:
  using Algorithm = std::array<uint64_t, 8>;  // as the library writes it, or a number alone

  // What the file holds, or nothing where there is none. Lines that are not whole are left out.
  explicit AlgorithmFile(std::filesystem::path path);

  const Algorithm* find(const std::string& key) const;

  // Also writes the file, with what others have added to it meanwhile. A key has no line break.
  void add(const std::string& key, const Algorithm& algorithm);

 private:
  void read();

  std::filesystem::path path_;
  std::shared_ptr<std::map<std::string, Algorithm>> algorithms_ =
      std::make_shared<std::map<std::string, Algorithm>>();
};

// In the user's folder for caches: $XDG_CACHE_HOME, or ~/.cache.
std::filesystem::path default_algorithm_file();

// That file, one for all of a process: ranks that share a GPU take the same algorithms.
const AlgorithmFile& shared_algorithm_file();

}  // namespace tessera
