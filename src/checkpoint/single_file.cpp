// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/single_file.h"

#include <charconv>

#include "files/digest.h"
#include "files/safetensors.h"

namespace tessera {
namespace {

constexpr const char* kFormat = "tessera-checkpoint-3";
constexpr const char* kOldFormat = "tessera-checkpoint-1";

const std::string& metadata(const SafetensorsReader& reader, const std::string& key) {
  const auto found = reader.metadata().find(key);
  if (found == reader.metadata().end())
    throw user_error("{} is not a checkpoint of tessera: its metadata has no {}",
                     reader.path().string(), key);
  return found->second;
}

int64_t metadata_number(const SafetensorsReader& reader, const std::string& key) {
  const std::string& text = metadata(reader, key);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw user_error("{}: {} is {}, not an integer", reader.path().string(), key, text);
  return value;
}

}  // namespace

Manifest manifest_of_single_file(const SafetensorsReader& reader) {
  if (metadata(reader, "format") != kFormat && metadata(reader, "format") != kOldFormat)
    throw user_error("{}: format {} is not supported", reader.path().string(),
                     metadata(reader, "format"))
        .help("this tessera reads " + std::string(kFormat));
  const bool has_seed = reader.metadata().contains("seed");  // older files have none
  Manifest manifest{.facts = {.position = {.step = metadata_number(reader, "step"),
                                           .next_sample = metadata_number(reader, "next_sample"),
                                           .tokens = metadata_number(reader, "tokens")},
                              .seed = has_seed ? metadata_number(reader, "seed") : 0,
                              .mesh = "1",
                              .config_toml = metadata(reader, "config")}};
  if (reader.metadata().contains("base")) manifest.facts.base = metadata(reader, "base");
  StoredFile file{.name = reader.path().filename().string(), .bytes = reader.file_bytes()};
  for (const SafetensorsTensor& tensor : reader.tensors())
    file.pieces.push_back({.name = tensor.name,
                           .dtype = tensor.dtype,
                           .shape = tensor.shape,
                           .piece = whole_tensor(tensor.shape)});
  manifest.files.push_back(std::move(file));
  return manifest;
}

std::string digest_of_single_file(const SafetensorsReader& reader) {
  return metadata(reader, "digest");
}

void verify_single_file(const SafetensorsReader& reader) {
  const bool is_old = metadata(reader, "format") == kOldFormat;
  Digest digest(is_old ? DigestKind::Own : DigestKind::Xxh3);
  const FileReader file(reader.path());
  for (const SafetensorsTensor& tensor : reader.tensors()) add_stored(digest, reader, tensor, file);
  if (digest.text() != metadata(reader, "digest"))
    throw user_error("{} is corrupt: its digest is {}, but it was written with {}",
                     reader.path().string(), digest.text(), metadata(reader, "digest"))
        .help("copy it again, or use an older one");
}

void write_single_file(const std::filesystem::path& path, const CheckpointFacts& facts,
                       const std::vector<StoredPiece>& tensors, const PieceBytes& bytes_of) {
  Digest digest;
  std::vector<SafetensorsEntry> entries;
  for (size_t i = 0; i < tensors.size(); ++i) {
    entries.push_back({tensors[i].name, tensors[i].dtype, tensors[i].shape});
    digest.add(bytes_of(i));
  }
  std::map<std::string, std::string> metadata{
      {"format", kFormat},
      {"step", fmt::format("{}", facts.position.step)},
      {"next_sample", fmt::format("{}", facts.position.next_sample)},
      {"tokens", fmt::format("{}", facts.position.tokens)},
      {"seed", fmt::format("{}", facts.seed)},
      {"config", facts.config_toml},
      {"digest", digest.text()}};
  if (!facts.base.empty()) metadata["base"] = facts.base;
  SafetensorsWriter writer(path, std::move(entries), std::move(metadata));
  for (size_t i = 0; i < tensors.size(); ++i) writer.write(tensors[i].name, bytes_of(i));
  writer.commit();
}

}  // namespace tessera
