// SPDX-License-Identifier: Apache-2.0
// The files that are copied unchanged with a model's weights: its tokenizer, chat template and
// defaults for generation. A model's folder is untrusted, and copies may be published, so a file
// must have the format that its name implies and be inside the folder.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "files/mapped_file.h"

namespace tessera {

class TokenizerFiles {
 public:
  // Opens those that the folder has. A UserError if one does not parse, or is a link that leaves
  // the folder (in a Hugging Face cache: the model's part of the cache).
  explicit TokenizerFiles(const std::filesystem::path& folder);

  // Copies those that `to` does not have, and returns their names.
  std::vector<std::string> copy_to(const std::filesystem::path& to) const;

 private:
  std::vector<std::pair<std::string, MappedFile>> files_;  // by name
};

// Where they are for a checkpoint: in the output folder of its run, or next to the file.
std::filesystem::path tokenizer_folder(const std::filesystem::path& checkpoint);

}  // namespace tessera
