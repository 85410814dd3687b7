// SPDX-License-Identifier: Apache-2.0
#include "ir/origin.h"

namespace tessera {
namespace {

// The folder of the project: what stands before the name of this file.
constexpr std::string_view project_folder() {
  constexpr std::string_view kHere = __FILE__, kName = "src/ir/origin.cpp";
  return kHere.ends_with(kName) ? kHere.substr(0, kHere.size() - kName.size()) : "";
}

}  // namespace

std::string_view file_name(const SourceLine& source) {
  std::string_view file = source.known() ? source.file : "";
  if (file.starts_with(project_folder())) file.remove_prefix(project_folder().size());
  return file;
}

std::string to_string(const SourceLine& source) {
  return std::string(file_name(source)) + ":" + std::to_string(source.line);
}

}  // namespace tessera
