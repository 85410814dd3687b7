// SPDX-License-Identifier: Apache-2.0
#include "data/data_files.h"

#include <algorithm>
#include <map>

#include "files/atomic_file.h"
#include "files/digest.h"
#include "files/folder.h"
#include "files/json.h"
#include "files/mapped_file.h"
#include "files/small_file.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPlaces = 8, kPlaceBytes = 16 << 10;  // of a file, evenly spread; the ends, too

std::string digest_of_places(std::span<const std::byte> bytes) {
  Digest digest;
  if (bytes.size() <= kPlaces * kPlaceBytes) {
    digest.add(bytes);
    return digest.text();
  }
  const size_t last = bytes.size() - kPlaceBytes;
  for (size_t i = 0; i + 1 < kPlaces; ++i)
    digest.add(bytes.subspan(last / (kPlaces - 1) * i, kPlaceBytes));
  digest.add(bytes.last(kPlaceBytes));
  return digest.text();
}

void add_files(const std::string& path, std::vector<DataFile>& files) {
  for (const fs::path& file : files_named(path)) {
    const MappedFile mapped(file);
    files.push_back({.path = file.string(),
                     .bytes = static_cast<int64_t>(mapped.bytes().size()),
                     .digest = digest_of_places(mapped.bytes())});
  }
}

}  // namespace

std::vector<DataFile> data_files_of(const DataConfig& data) {
  std::vector<DataFile> files;
  const bool built_in = data.source == DataSource::Stories || data.source == DataSource::Regression;
  if (data.source == DataSource::Mixture)
    for (const auto& [path, unused] : data.mixture) add_files(path, files);
  else if (!built_in && !data.path.empty())
    add_files(data.path, files);
  if (!data.held_out_path.empty()) add_files(data.held_out_path, files);
  if (!built_in && data.source != DataSource::Tokens && !data.tokenizer.empty())
    add_files(tokenizer_file_of(data.tokenizer).string(), files);
  return files;
}

void write_data_files(const fs::path& run, const std::vector<DataFile>& files) {
  Json json = Json::array();
  for (const DataFile& file : files)
    json.push_back({{"path", file.path}, {"bytes", file.bytes}, {"digest", file.digest}});
  write_file_atomically(run / kDataFilesName, json.dump(1) + "\n");
}

std::optional<std::vector<DataFile>> find_data_files(const fs::path& run) {
  const std::optional<std::string> text = find_small_file(run / kDataFilesName);
  const Json json = text ? parse_json(*text) : Json();
  if (!json.is_array()) return std::nullopt;
  std::vector<DataFile> files;
  for (const Json& file : json.items()) {
    const Json *path = file.find("path"), *bytes = file.find("bytes"),
               *digest = file.find("digest");
    if (!path || !path->text() || !bytes || !bytes->integer() || !digest || !digest->text())
      return std::nullopt;
    files.push_back({.path = *path->text(), .bytes = *bytes->integer(), .digest = *digest->text()});
  }
  return files;
}

std::string change_of_data(const std::vector<DataFile>& before, const std::vector<DataFile>& now) {
  std::map<std::string, DataFile> old;
  for (const DataFile& file : before) old.emplace(file.path, file);
  for (const DataFile& file : now) {
    const auto found = old.find(file.path);
    if (found == old.end()) return fmt::format("{} is new", file.path);
    const DataFile was = found->second;
    old.erase(found);
    if (was.bytes != file.bytes)
      return fmt::format("{} had {} bytes and has {}", file.path, was.bytes, file.bytes);
    if (was.digest != file.digest) return fmt::format("{} has other content", file.path);
  }
  return old.empty() ? "" : fmt::format("{} is gone", old.begin()->first);
}

}  // namespace tessera
