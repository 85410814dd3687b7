// SPDX-License-Identifier: Apache-2.0
// What stands beside a model's weights and is passed on as it is: its tokenizer and its defaults
// for generation. A model's folder may come from anybody, and what is copied out of it may be
// published, so a file must be what its name says and lie in the folder.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "files/mapped_file.h"

namespace tessera {

class TokenizerFiles {
 public:
  // Those that the folder has. A UserError where one does not parse, or is a link that leaves the
  // folder (in a cache of Hugging Face's: the model's part of the cache).
  explicit TokenizerFiles(const std::filesystem::path& folder);

  // Copies those that `to` has not; their names.
  std::vector<std::string> copy_to(const std::filesystem::path& to) const;

 private:
  std::vector<std::pair<std::string, MappedFile>> files_;  // by name
};

// Where they would be for a checkpoint: in the output folder of its run, or beside the file.
std::filesystem::path tokenizer_folder(const std::filesystem::path& checkpoint);

}  // namespace tessera
