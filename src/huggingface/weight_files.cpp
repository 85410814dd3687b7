// SPDX-License-Identifier: Apache-2.0
#include "huggingface/weight_files.h"

#include "core/error.h"
#include "files/json.h"

namespace tessera {
namespace {

constexpr int kIndexDepth = 4;
constexpr SafetensorsReaderOptions kOptions{.takes_half = true};

Json read_index(const std::filesystem::path& path) {
  const MappedFile file(path);
  Json json;
  const std::string wrong = parse_json(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, kIndexDepth, json);
  if (!wrong.empty()) throw user_error("{} {}", path.string(), wrong).help("copy it again");
  const Json* weight_map = json.find("weight_map");
  if (!weight_map || !weight_map->is_object())
    throw user_error("{} has no weight_map", path.string()).help("copy it again");
  return *weight_map;
}

// Rejects file names that leave the folder.
bool is_plain(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

WeightFiles::WeightFiles(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / kOneFile)) {
    const SafetensorsReader& file =
        files_.emplace(kOneFile, SafetensorsReader(folder / kOneFile, kOptions)).first->second;
    for (const SafetensorsTensor& tensor : file.tensors()) tensors_[tensor.name] = &tensor;
    return;
  }
  if (!std::filesystem::exists(folder / kIndexFile))
    throw user_error("{} has neither {} nor {}", folder.string(), kOneFile, kIndexFile)
        .help("save the model with transformers' save_pretrained: it writes safetensors");
  open_indexed(folder);
}

void WeightFiles::open_indexed(const std::filesystem::path& folder) {
  const std::filesystem::path index = folder / kIndexFile;
  const Json weight_map = read_index(index);
  for (const auto& [name, file] : weight_map.members()) {
    if (!file.text() || !is_plain(*file.text()))
      throw user_error("{} says that {} is in {}, which is not a file of the folder",
                       index.string(), name, file.dump())
          .help("copy it again");
    const std::string& file_name = *file.text();
    auto opened = files_.find(file_name);
    if (opened == files_.end())
      opened = files_.emplace(file_name, SafetensorsReader(folder / file_name, kOptions)).first;
    const SafetensorsTensor* tensor = opened->second.find(name);
    if (!tensor)
      throw user_error("{} says that {} is in {}, but it is not", index.string(), name, file_name)
          .help("index and files do not belong together: copy them again");
    tensors_[name] = tensor;
  }
}

const SafetensorsTensor* WeightFiles::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

}  // namespace tessera
