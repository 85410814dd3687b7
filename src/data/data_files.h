// SPDX-License-Identifier: Apache-2.0
// The files that a run's data are, as they were when it began: a run that resumes notices when they
// have changed. Of each file there are its size and a digest of a few places, so that looking takes
// no longer for large ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"

namespace tessera {

inline constexpr const char* kDataFilesName = "data_files.json";  // in the folder of a run

struct DataFile {
  std::string path;
  int64_t bytes = 0;
  std::string digest;
  bool operator==(const DataFile&) const = default;
};

// Texts, conversations and token shards, those that are held out, and the tokenizer that makes
// tokens of them. None where the data are built in.
std::vector<DataFile> data_files_of(const DataConfig& data);

void write_data_files(const std::filesystem::path& run, const std::vector<DataFile>& files);
// Nothing where the run has written none.
std::optional<std::vector<DataFile>> find_data_files(const std::filesystem::path& run);

// The first difference: "books/a.txt had 12 bytes and has 14"; empty: there is none.
std::string change_of_data(const std::vector<DataFile>& before, const std::vector<DataFile>& now);

}  // namespace tessera
