// SPDX-License-Identifier: Apache-2.0
#include "huggingface/export_folder.h"

#include <algorithm>

#include "core/convert_elements.h"
#include "core/error.h"
#include "files/folder.h"
#include "files/json.h"
#include "files/safetensors.h"
#include "huggingface/copy_patch.h"
#include "huggingface/model_json.h"
#include "huggingface/tensor_map.h"
#include "huggingface/weight_files.h"

namespace tessera {
namespace {

class Exporter {
 public:
  Exporter(const StateSource& from, const ModelConfig& model, const ExportOptions& options)
      : from_(from), options_(options), map_(tensor_map(model)) {
    for (const Patch& patch : map_.patches) patches_[patch.theirs].push_back(&patch);
    for (const auto& [name, patches] : patches_)
      entries_.push_back({name, dtype_of(*patches.front()), map_.theirs.at(name)});
    for (const auto& [name, shape] : map_.zeros)
      entries_.push_back({name, entries_.front().dtype, shape});
  }

  // Distributes tensors over files, each within the limit.
  std::vector<std::vector<SafetensorsEntry>> shards() const {
    std::vector<std::vector<SafetensorsEntry>> shards(1);
    int64_t bytes = 0;
    for (const SafetensorsEntry& entry : entries_) {
      if (!shards.back().empty() && bytes + size_bytes(entry) > options_.shard_bytes) {
        shards.emplace_back();
        bytes = 0;
      }
      shards.back().push_back(entry);
      bytes += size_bytes(entry);
    }
    return shards;
  }

  void write(const std::filesystem::path& path, const std::vector<SafetensorsEntry>& entries) {
    SafetensorsWriter writer(path, entries, {{"format", "pt"}});
    for (const SafetensorsEntry& entry : entries) writer.write(entry.name, bytes_of(entry));
    writer.commit();
  }

  const std::vector<SafetensorsEntry>& entries() const { return entries_; }

 private:
  // Weights as they are stored; with a dtype, the most precise copy.
  std::string origin(const Patch& patch) const {
    if (options_.dtype || options_.averaged) return from_.origin_of(patch.ours, options_.averaged);
    return patch.ours;
  }

  const StateSource::Tensor& stored(const Patch& patch) const {
    const auto found = from_.tensors().find(origin(patch));
    if (found == from_.tensors().end())
      throw user_error("{} has no {}", from_.path().string(), patch.ours)
          .help("was it written by another model?");
    if (found->second.shape != map_.ours.at(patch.ours))
      throw user_error("{}: {} has another shape than its config implies", from_.path().string(),
                       patch.ours);
    return found->second;
  }

  DType dtype_of(const Patch& patch) const {
    const DType dtype = stored(patch).dtype;
    return options_.dtype.value_or(dtype);
  }

  std::span<const std::byte> bytes_of(const SafetensorsEntry& entry) {
    const int64_t element_bytes = size_bytes(entry.dtype);
    bytes_.resize(static_cast<size_t>(size_bytes(entry)));
    if (map_.zeros.contains(entry.name)) {
      std::fill(bytes_.begin(), bytes_.end(), std::byte{0});
      return bytes_;
    }
    for (const Patch* patch : patches_.at(entry.name)) {
      // One expert of many need not be read with the others.
      const int64_t count = (patch->rows - 1) * patch->our_row + patch->columns;
      const std::vector<std::byte> part =
          from_.read_part(origin(*patch), {patch->our_begin, count});
      converted_.resize(static_cast<size_t>(count * element_bytes));
      convert_elements(stored(*patch).dtype, part, entry.dtype, converted_);
      Patch own = *patch;
      own.our_begin = 0;
      copy_to_theirs(own, element_bytes, converted_, bytes_);
    }
    return bytes_;
  }

  const StateSource& from_;
  const ExportOptions& options_;
  TensorMap map_;
  std::map<std::string, std::vector<const Patch*>> patches_;  // by their name
  std::vector<SafetensorsEntry> entries_;
  std::vector<std::byte> bytes_, converted_;
};

}  // namespace

ExportSummary export_folder(const StateSource& from, const ModelConfig& model,
                            const std::filesystem::path& folder, const ExportOptions& options) {
  check_exportable(model);
  Exporter exporter(from, model, options);
  const std::string config = model_json(model, exporter.entries().front().dtype, options.ends);
  if (std::filesystem::exists(folder / "config.json"))
    throw user_error("{} already holds a model", folder.string())
        .help("choose another folder with --out");
  make_folder(folder);
  const auto shards = exporter.shards();
  Json weight_map = Json::object();
  ExportSummary summary{.files = static_cast<int64_t>(shards.size()),
                        .tensors = static_cast<int64_t>(exporter.entries().size())};
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string file =
        shards.size() == 1 ? kOneFile
                           : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    exporter.write(folder / file, shards[i]);
    for (const SafetensorsEntry& entry : shards[i]) {
      weight_map[entry.name] = file;
      summary.bytes += size_bytes(entry);
    }
  }
  if (shards.size() > 1)
    write_file_atomically(
        folder / kIndexFile,
        Json{{"metadata", {{"total_size", summary.bytes}}}, {"weight_map", weight_map}}.dump(2) +
            "\n");
  write_file_atomically(folder / "config.json", config);
  return summary;
}

}  // namespace tessera
