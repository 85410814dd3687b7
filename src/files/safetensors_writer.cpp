// SPDX-License-Identifier: Apache-2.0
#include "files/safetensors_writer.h"

#include <bit>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "files/json.h"
#include "files/safetensors_dtype.h"

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

int64_t total_bytes(const std::vector<SafetensorsEntry>& entries) {
  int64_t total = 0;
  for (const SafetensorsEntry& entry : entries) total += size_bytes(entry);
  return total;
}

// Length and JSON together, a multiple of 8 bytes long.
std::string make_header(const std::vector<SafetensorsEntry>& entries,
                        const std::map<std::string, std::string>& metadata) {
  Json json = Json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const SafetensorsEntry& entry : entries) {
    TESSERA_CHECK(!json.find(entry.name), "tensor {} is announced twice", entry.name);
    const int64_t end = offset + size_bytes(entry);
    json[entry.name] = {{"dtype", safetensors_name(entry.dtype)},
                        {"shape", entry.shape},
                        {"data_offsets", Json::array({offset, end})}};
    offset = end;
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string header(sizeof(length), '\0');
  std::memcpy(header.data(), &length, sizeof(length));
  return header + text;
}

}  // namespace

int64_t size_bytes(const SafetensorsEntry& entry) {
  int64_t bytes = size_bytes(entry.dtype);
  for (const int64_t size : entry.shape) bytes *= size;
  return bytes;
}

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path,
                                     std::vector<SafetensorsEntry> entries,
                                     const std::map<std::string, std::string>& metadata,
                                     FileWatch watch)
    : entries_(std::move(entries)),
      header_(make_header(entries_, metadata)),
      file_(std::move(path), file_bytes(), std::move(watch)) {
  file_.write(header_);
}

int64_t SafetensorsWriter::file_bytes() const {
  return static_cast<int64_t>(header_.size()) + total_bytes(entries_);
}

void SafetensorsWriter::write(const std::string& name, std::span<const std::byte> bytes) {
  TESSERA_CHECK(next_ < entries_.size(), "{} was not announced", name);
  const SafetensorsEntry& entry = entries_[next_++];
  TESSERA_CHECK(entry.name == name, "{} comes before {}", entry.name, name);
  TESSERA_CHECK(static_cast<int64_t>(bytes.size()) == size_bytes(entry), "{} has {} bytes, not {}",
                name, size_bytes(entry), bytes.size());
  file_.write(bytes);
}

void SafetensorsWriter::commit() {
  TESSERA_CHECK(next_ == entries_.size(), "{} of {} tensors written", next_, entries_.size());
  file_.commit();
}

}  // namespace tessera
