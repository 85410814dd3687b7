// SPDX-License-Identifier: Apache-2.0
// Stands in for studio/machine_kinds.cpp and files/mapped_file.cpp: a page has neither kernels nor
// files.
#include "core/error.h"
#include "files/mapped_file.h"
#include "studio/kinds.h"

namespace tessera {

std::span<const QuestionKind> machine_kinds() { return {}; }

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  throw UserError("a page cannot read files").at(path_.string()).help("name no file");
}
MappedFile::~MappedFile() = default;

}  // namespace tessera
