// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard_file.h"

#include <fmt/format.h>

#include "files/digest.h"
#include "files/safetensors.h"

namespace tessera {
namespace {

std::string stored_digest(const SafetensorsReader& reader, const SafetensorsTensor& tensor,
                          const FileReader& file, DigestKind kind) {
  Digest digest(kind);
  add_stored(digest, reader, tensor, file);
  return digest.text();
}

template <typename... Args>
UserError corrupt(const std::filesystem::path& path, fmt::format_string<Args...> format,
                  Args&&... args) {
  return user_error("{} is corrupt: {}", path.string(),
                    fmt::format(format, std::forward<Args>(args)...))
      .help("use an older checkpoint");
}

}  // namespace

void add_stored(Digest& digest, const SafetensorsReader& reader, const SafetensorsTensor& tensor,
                const FileReader& file) {
  std::vector<std::byte> buffer;
  digest.add(tensor.bytes.size(), [&](size_t begin, size_t count) {
    buffer.resize(count);
    file.read(reader.offset_of(tensor) + static_cast<int64_t>(begin), buffer);
    return std::span<const std::byte>(buffer);
  });
}

StoredFile write_shard(const std::filesystem::path& folder, int rank,
                       std::vector<StoredPiece> pieces, const PieceBytes& bytes_of,
                       FileWatch watch) {
  StoredFile file{.name = fmt::format("rank-{:05}.safetensors", rank), .pieces = std::move(pieces)};
  std::vector<SafetensorsEntry> entries;
  for (size_t i = 0; i < file.pieces.size(); ++i) {
    StoredPiece& piece = file.pieces[i];
    entries.push_back({piece.name, piece.dtype, stored_shape(piece.piece)});
    piece.digest = digest_of(bytes_of(i));
  }
  SafetensorsWriter writer(folder / file.name, std::move(entries), {}, std::move(watch));
  file.bytes = writer.file_bytes();
  file.header_digest = digest_of(std::as_bytes(std::span(writer.header())));
  Digest whole;
  whole.add(std::as_bytes(std::span(writer.header())));
  for (size_t i = 0; i < file.pieces.size(); ++i) {
    whole.add(bytes_of(i));
    writer.write(file.pieces[i].name, bytes_of(i));
  }
  file.digest = whole.text();
  writer.commit();
  return file;
}

SafetensorsReader open_shard(const std::filesystem::path& folder, const StoredFile& file) {
  const std::filesystem::path path = folder / file.name;
  SafetensorsReader reader(path);
  if (reader.file_bytes() != file.bytes)
    throw corrupt(path, "it has {} bytes, but was written with {}", reader.file_bytes(),
                  file.bytes);
  if (digest_of(reader.header(), file.digest_kind) != file.header_digest)
    throw corrupt(path, "its header differs from the one that was written");
  for (const StoredPiece& piece : file.pieces) {
    const SafetensorsTensor* tensor = reader.find(piece.name);
    if (!tensor) throw corrupt(path, "it has no {}", piece.name);
    if (tensor->dtype != piece.dtype || tensor->shape != stored_shape(piece.piece))
      throw corrupt(path, "{} has another dtype or shape than was written", piece.name);
  }
  return reader;
}

void verify_shard(const std::filesystem::path& folder, const StoredFile& file) {
  const SafetensorsReader reader = open_shard(folder, file);
  const FileReader bytes(reader.path());
  for (const StoredPiece& piece : file.pieces) {
    const std::string found =
        stored_digest(reader, reader.get(piece.name), bytes, file.digest_kind);
    if (found != piece.digest)
      throw corrupt(reader.path(), "{} has digest {}, but was written with {}", piece.name, found,
                    piece.digest);
  }
}

}  // namespace tessera
