// SPDX-License-Identifier: Apache-2.0
#include "system/find_program.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace tessera {
namespace {

namespace fs = std::filesystem;

bool can_be_run(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<fs::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return can_be_run(name) ? std::optional<fs::path>(name) : std::nullopt;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (fs::path file = fs::path(folder) / name; can_be_run(file)) return file;
  return std::nullopt;
}

}  // namespace tessera
