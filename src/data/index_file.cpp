// SPDX-License-Identifier: Apache-2.0
#include "data/index_file.h"

#include <cstring>
#include <string>
#include <string_view>

#include "files/atomic_file.h"
#include "files/digest.h"
#include "files/json.h"
#include "files/mapped_file.h"

namespace tessera {
namespace {

// A line of JSON, then the documents of both lists, then the digest of all before it.
struct IndexHead {
  DocumentIndex index;  // without documents
  uint64_t train = 0, held_out = 0;
};

std::optional<IndexHead> parse_head(std::string_view line) {
  const Json json = parse_json(line);
  const auto number = [](const Json& object, const char* name) -> std::optional<int64_t> {
    const Json* found = object.find(name);
    return found ? found->integer() : std::nullopt;
  };
  const auto train = number(json, "train"), held_out = number(json, "held_out"),
             duplicates = number(json, "duplicates");
  const Json* files = json.find("files");
  if (!train || !held_out || !duplicates || !files || *train < 0 || *held_out < 0)
    return std::nullopt;
  IndexHead head{.index = {},
                 .train = static_cast<uint64_t>(*train),
                 .held_out = static_cast<uint64_t>(*held_out)};
  head.index.duplicates = *duplicates;
  for (const Json& file : files->items()) {
    const Json *path = file.find("path"), *lines = file.find("lines"),
               *packed = file.find("packed");
    const auto begin = number(file, "begin"), end = number(file, "end");
    if (!path || !path->text() || !lines || !packed || !begin || !end) return std::nullopt;
    head.index.files.push_back({.path = *path->text(),
                                .begin = *begin,
                                .end = *end,
                                .lines = lines->flag().value_or(false),
                                .packed = packed->flag().value_or(false)});
  }
  return head;
}

}  // namespace

void write_index(const std::filesystem::path& path, const DocumentIndex& index) {
  Json json{{"train", index.train.size()},
            {"held_out", index.held_out.size()},
            {"duplicates", index.duplicates},
            {"files", Json::array()}};
  for (const IndexedFile& file : index.files)
    json["files"].push_back({{"path", file.path.string()},
                             {"begin", file.begin},
                             {"end", file.end},
                             {"lines", file.lines},
                             {"packed", file.packed}});
  const std::string line = json.dump() + "\n";
  AtomicFile file(path);
  Digest digest;
  for (const auto part : {std::as_bytes(std::span(line)), std::as_bytes(std::span(index.train)),
                          std::as_bytes(std::span(index.held_out))}) {
    file.write(part);
    digest.add(part);
  }
  file.write(digest.text());
  file.commit();
}

std::optional<DocumentIndex> find_index(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  const MappedFile file(path);
  constexpr size_t kDigestBytes = 16;
  if (file.bytes().size() < kDigestBytes) return std::nullopt;
  const auto content = file.bytes().first(file.bytes().size() - kDigestBytes);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  if (digest_of(content) != text.substr(content.size())) return std::nullopt;
  const size_t line = text.find('\n');
  auto head = line == std::string_view::npos ? std::nullopt : parse_head(text.substr(0, line));
  if (!head || content.size() - line - 1 != (head->train + head->held_out) * sizeof(DocumentPlace))
    return std::nullopt;
  head->index.train.resize(head->train);
  head->index.held_out.resize(head->held_out);
  const std::byte* documents = content.data() + line + 1;
  const size_t train_bytes = head->train * sizeof(DocumentPlace);
  if (head->train > 0) std::memcpy(head->index.train.data(), documents, train_bytes);
  if (head->held_out > 0)
    std::memcpy(head->index.held_out.data(), documents + train_bytes,
                head->held_out * sizeof(DocumentPlace));
  return std::move(head->index);
}

}  // namespace tessera
