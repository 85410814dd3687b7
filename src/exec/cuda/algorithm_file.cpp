// SPDX-License-Identifier: Apache-2.0
// A line is eight numbers in hexadecimal, then the key.
#include "exec/cuda/algorithm_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "files/atomic_file.h"

namespace tessera {

AlgorithmFile::AlgorithmFile(std::filesystem::path path) : path_(std::move(path)) { read(); }

void AlgorithmFile::read() {
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Algorithm algorithm;
    for (uint64_t& number : algorithm) words >> std::hex >> number;
    std::string key;
    if (words.get() == ' ' && std::getline(words, key)) algorithms_->emplace(key, algorithm);
  }
}

const AlgorithmFile::Algorithm* AlgorithmFile::find(const std::string& key) const {
  const auto found = algorithms_->find(key);
  return found == algorithms_->end() ? nullptr : &found->second;
}

void AlgorithmFile::add(const std::string& key, const Algorithm& algorithm) {
  (*algorithms_)[key] = algorithm;
  read();
  std::string text;
  for (const auto& [each, numbers] : *algorithms_)
    text += fmt::format("{:016x} {}\n", fmt::join(numbers, " "), each);
  std::filesystem::create_directories(path_.parent_path());
  // A name of its own, since other processes may be writing too.
  const auto own = std::filesystem::path(path_).concat(fmt::format(".{}", ::getpid()));
  write_file_atomically(own, text);
  std::filesystem::rename(own, path_);
}

std::filesystem::path default_algorithm_file() {
  const auto folder = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::filesystem::path(value ? value : "");
  };
  const auto cache = folder("XDG_CACHE_HOME");
  return (cache.empty() ? folder("HOME") / ".cache" : cache) / "tessera" / "matmul_algorithms.txt";
}

const AlgorithmFile& shared_algorithm_file() {
  static const AlgorithmFile file(default_algorithm_file());
  return file;
}

}  // namespace tessera
