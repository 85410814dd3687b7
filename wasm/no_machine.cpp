// SPDX-License-Identifier: Apache-2.0
// Stands in for studio/machine_kinds.cpp and files of files/ that read: a page has neither kernels
// nor files.
#include "core/error.h"
#include "files/mapped_file.h"
#include "files/small_file.h"
#include "studio/kinds.h"

namespace tessera {

std::span<const QuestionKind> machine_kinds() { return {}; }

std::optional<std::string> find_small_file(const std::filesystem::path&) { return std::nullopt; }

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  throw UserError("a page cannot read files").at(path_.string()).help("name no file");
}
MappedFile::~MappedFile() = default;

}  // namespace tessera
