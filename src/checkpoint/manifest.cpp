// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.h"

#include <algorithm>

#include "checkpoint/run_identity.h"
#include "files/digest.h"
#include "files/json.h"

namespace tessera {
namespace {

// After these bytes come the digest and then the bytes that it covers.
constexpr std::string_view kHead = R"({"format":"tessera-checkpoint-3","digest":")";
constexpr std::string_view kOldHead = R"({"format":"tessera-checkpoint-2","digest":")";
static_assert(kHead.size() == kOldHead.size());
constexpr size_t kDigestDigits = 16;
constexpr int kMaxDepth = 6;

Json json_of(const StoredPiece& piece) {
  Json json{{"name", piece.name},
            {"dtype", name(piece.dtype)},
            {"shape", piece.shape},
            {"first", piece.piece.first},
            {"count", piece.piece.count}};
  if (piece.piece.elements() != elements_of(piece.piece.count))
    json["elements"] = Json::array({piece.piece.begin, piece.piece.end});
  json["digest"] = piece.digest;
  return json;
}

Json json_of(const std::vector<StoredFile>& files) {
  Json list = Json::array();
  for (const StoredFile& file : files) {
    Json tensors = Json::array();
    for (const StoredPiece& piece : file.pieces) tensors.push_back(json_of(piece));
    list.push_back({{"name", file.name},
                    {"bytes", file.bytes},
                    {"digest", file.digest},
                    {"header_digest", file.header_digest},
                    {"tensors", std::move(tensors)}});
  }
  return list;
}

// Reads required fields; throws Unfit if one is missing or wrong.
struct Unfit {
  std::string what;
};

const Json& field(const Json& json, const char* key) {
  const Json* found = json.find(key);
  if (!found) throw Unfit{fmt::format("has no {}", key)};
  return *found;
}

std::string text_field(const Json& json, const char* key) {
  const Json& value = field(json, key);
  if (!value.text()) throw Unfit{fmt::format("has a {} that is not a string", key)};
  return *value.text();
}

int64_t number_of(const Json& value, const char* key) {
  const int64_t number = value.integer().value_or(-1);
  if (number < 0) throw Unfit{fmt::format("has a {} that is not an integer of at least 0", key)};
  return number;
}

int64_t number_field(const Json& json, const char* key) { return number_of(field(json, key), key); }

std::span<const Json> list_field(const Json& json, const char* key) {
  const Json& value = field(json, key);
  if (!value.is_array()) throw Unfit{fmt::format("has a {} that is not a list", key)};
  return value.items();
}

std::vector<int64_t> numbers_field(const Json& json, const char* key) {
  std::vector<int64_t> numbers;
  for (const Json& value : list_field(json, key)) numbers.push_back(number_of(value, key));
  return numbers;
}

StoredPiece read_piece(const Json& json) {
  StoredPiece piece{.name = text_field(json, "name")};
  const auto dtype = dtype_from_name(text_field(json, "dtype"));
  if (!dtype) throw Unfit{fmt::format("has {} in an unknown dtype", piece.name)};
  piece.dtype = *dtype;
  piece.shape = numbers_field(json, "shape");
  piece.piece.first = numbers_field(json, "first");
  piece.piece.count = numbers_field(json, "count");
  piece.digest = text_field(json, "digest");
  std::string wrong;
  if (json.find("elements")) {
    const std::vector<int64_t> elements = numbers_field(json, "elements");
    if (elements.size() != 2) throw Unfit{fmt::format("has no begin and end for {}", piece.name)};
    piece.piece.begin = elements[0];
    piece.piece.end = elements[1];
    wrong = problem_of(piece.shape, piece.piece);
  } else {
    // Sizes are checked before they are multiplied.
    piece.piece.end = 1;
    wrong = problem_of(piece.shape, piece.piece);
    if (wrong.empty()) piece.piece.end = elements_of(piece.piece.count);
  }
  if (!wrong.empty()) throw Unfit{fmt::format("has a part of {} that {}", piece.name, wrong)};
  return piece;
}

std::vector<StoredFile> read_files(std::span<const Json> list, DigestKind kind) {
  std::vector<StoredFile> files;
  for (const Json& json : list) {
    StoredFile file{.name = text_field(json, "name"),
                    .bytes = number_field(json, "bytes"),
                    .digest = kind == DigestKind::Own ? "" : text_field(json, "digest"),
                    .header_digest = text_field(json, "header_digest"),
                    .digest_kind = kind};
    // Rejects file names that leave the checkpoint folder.
    if (file.name.empty() || file.name.find('/') != std::string::npos || file.name[0] == '.' ||
        file.name.find('\0') != std::string::npos)
      throw Unfit{"names a file outside its folder"};
    for (const Json& tensor : list_field(json, "tensors"))
      file.pieces.push_back(read_piece(tensor));
    files.push_back(std::move(file));
  }
  return files;
}

Manifest read_manifest(std::string_view text) {
  const bool is_old = text.starts_with(kOldHead);
  if (!(is_old || text.starts_with(kHead)) || text.size() < kHead.size() + kDigestDigits)
    throw Unfit{"does not begin like a manifest of tessera-checkpoint-3"};
  const DigestKind kind = is_old ? DigestKind::Own : DigestKind::Xxh3;
  const std::string_view digest = text.substr(kHead.size(), kDigestDigits);
  const std::string_view covered = text.substr(kHead.size() + kDigestDigits);
  if (const std::string found = digest_of(std::as_bytes(std::span(covered)), kind); found != digest)
    throw Unfit{fmt::format("is corrupt: its digest is {}, not {}", found, digest)};
  Json json;
  const std::string wrong = parse_json(text, kMaxDepth, json);
  if (!wrong.empty()) throw Unfit{wrong};
  Manifest manifest{.facts = {.position = {.step = number_field(json, "step"),
                                           .next_sample = number_field(json, "next_sample"),
                                           .tokens = number_field(json, "tokens")},
                              .seed = number_field(json, "seed"),
                              .mesh = text_field(json, "mesh"),
                              .config_toml = text_field(json, "config")},
                    .files = read_files(list_field(json, "files"), kind)};
  // Those of imports, conversions and earlier versions have none.
  if (json.find("run")) manifest.facts.run = text_field(json, "run");
  if (!manifest.facts.run.empty() && !is_run_id(manifest.facts.run))
    throw Unfit{"has a run that is not 16 hexadecimal digits"};
  if (json.find("base")) manifest.facts.base = text_field(json, "base");
  // One rank may own nothing, but not all ranks.
  if (std::all_of(manifest.files.begin(), manifest.files.end(),
                  [](const StoredFile& file) { return file.pieces.empty(); }))
    throw Unfit{"lists no tensor: there is nothing to load"};
  return manifest;
}

}  // namespace

int64_t Manifest::bytes() const {
  int64_t bytes = 0;
  for (const StoredFile& file : files) bytes += file.bytes;
  return bytes;
}

std::string saved_on(const CheckpointFacts& facts) {
  return facts.mesh == "1" ? "one rank" : "mesh " + facts.mesh;
}

std::string to_text(const Manifest& manifest) {
  const CheckpointFacts& facts = manifest.facts;
  Json json{{"step", facts.position.step},
            {"next_sample", facts.position.next_sample},
            {"tokens", facts.position.tokens},
            {"seed", facts.seed},
            {"mesh", facts.mesh},
            {"config", facts.config_toml}};
  if (!facts.run.empty()) json["run"] = facts.run;
  if (!facts.base.empty()) json["base"] = facts.base;
  json["files"] = json_of(manifest.files);
  const std::string covered = "\"," + json.dump().substr(1) + "\n";
  return std::string(kHead) + digest_of(std::as_bytes(std::span(covered))) + covered;
}

Manifest parse_manifest(std::string_view text, const std::filesystem::path& path) {
  try {
    return read_manifest(text);
  } catch (const Unfit& unfit) {
    throw user_error("the manifest {} {}", path.string(), unfit.what)
        .help("this checkpoint is lost: use an older one");
  }
}

std::string to_text(const std::vector<StoredFile>& files) { return json_of(files).dump(); }

std::vector<StoredFile> parse_files(std::string_view text) {
  try {
    return read_files(parse_json(text).items(), DigestKind::Xxh3);
  } catch (const Unfit& unfit) {
    check_failed("files of a rank", __FILE__, __LINE__, unfit.what);
  }
}

}  // namespace tessera
