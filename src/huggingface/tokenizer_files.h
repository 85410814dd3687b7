// SPDX-License-Identifier: Apache-2.0
// What stands beside a model's weights and is passed on as it is: its tokenizer and its defaults
// for generation.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

// Copies those that `from` has and `to` has not; their names.
std::vector<std::string> copy_tokenizer_files(const std::filesystem::path& from,
                                              const std::filesystem::path& to);

// Where they would be for a checkpoint: in the output folder of its run, or beside the file.
std::filesystem::path tokenizer_folder(const std::filesystem::path& checkpoint);

}  // namespace tessera
