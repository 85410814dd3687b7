// SPDX-License-Identifier: Apache-2.0
// Text files and .jsonl files as a sequence of documents, in parts that threads process. The parts
// depend only on the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Bytes [begin, end) of a file. A text file is one document, large ones are cut where no token
// changes (text_pieces.h). A .jsonl file is cut at line ends. A packed file is one part, which is
// unpacked as it is read, and its bytes are those of the file.
struct CorpusPart {
  size_t file = 0;
  int64_t begin = 0, end = 0;
  bool ends_document = true;  // of a text file
};

// A UserError where the file, which has `bytes` now, has become too short to hold the part.
void require_part(const std::filesystem::path& path, size_t bytes, const CorpusPart& part);

struct CorpusOptions {
  int64_t part_bytes = 8 << 20;
  bool cuts_documents = true;
  std::string field = "text";  // of the lines of .jsonl files
};

class Corpus {
 public:
  // Files, folders and globs.
  explicit Corpus(std::span<const std::string> paths, CorpusOptions options = {});

  const std::vector<std::filesystem::path>& files() const { return files_; }
  const std::vector<CorpusPart>& parts() const { return parts_; }
  int64_t bytes() const { return bytes_; }

  // Called with each document of a part, or a piece of a document, and whether it ends there. A
  // line of a .jsonl file is an object with the document under a field.
  using OnDocument = std::function<void(std::string_view text, bool ends)>;
  void read(const CorpusPart& part, const OnDocument& document) const;

 private:
  void add_file(const std::filesystem::path& path);
  void read_packed(const std::filesystem::path& path, const OnDocument& document) const;

  CorpusOptions options_;
  std::vector<std::filesystem::path> files_;
  std::vector<CorpusPart> parts_;
  int64_t bytes_ = 0;
};

}  // namespace tessera
