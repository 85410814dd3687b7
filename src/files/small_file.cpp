// SPDX-License-Identifier: Apache-2.0
#include "files/small_file.h"

#include <fstream>
#include <sstream>

namespace tessera {

std::optional<std::string> find_small_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) return std::nullopt;
  std::ostringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (file.bad() || !text) return std::nullopt;
  return text.str();
}

}  // namespace tessera
