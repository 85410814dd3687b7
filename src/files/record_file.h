// SPDX-License-Identifier: Apache-2.0
// A file that grows by whole records, each as soon as it is known. It is this process's own: it
// takes the place of an old one, and whoever has that still open writes to what nobody reads.
// Records are best effort: what cannot be written is said once, dropped and counted, and one that
// was cut short is completed before the next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

using Warn = std::function<void(const std::string&)>;

struct RecordFileOptions {
  // Of an old file, to which this one appends; nothing: a new file.
  std::optional<int64_t> kept_bytes = {};
  // Told of the first record that is dropped. Without it that is a UserError.
  Warn warn = {};
};

class RecordFile {
 public:
  // A UserError where a new file cannot be made. An old one that cannot be replaced is gone on with
  // in its place.
  explicit RecordFile(std::filesystem::path path, RecordFileOptions options = {});
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  void write(std::string_view record);
  // "3 records of out/metrics.jsonl could not be written and are lost"; empty where none are.
  std::string losses() const;

 private:
  bool take_place(int64_t kept_bytes);  // false: errno says why not
  void open_old();
  bool write_rest();
  void complain(int error);

  std::filesystem::path path_;
  RecordFileOptions options_;
  int file_ = -1;
  std::string rest_;  // of a record under way
  int64_t dropped_ = 0;
  bool warned_ = false;
};

// Whether what was written up to this line, newline included, is kept.
using KeepsLine = std::function<bool(std::string_view line)>;

// A file of lines, each written whole as soon as it is known.
class LineFile {
 public:
  // A new file; or, resumed, an old one from after the last line that `keeps` accepts. A line that
  // a crash cut short is never kept.
  LineFile(
      const std::filesystem::path& path, bool resumed, Warn warn = {},
      const KeepsLine& keeps = [](std::string_view) { return true; });

  void write(std::string line) { file_.write(std::move(line) + '\n'); }  // without the newline
  std::string losses() const { return file_.losses(); }

 private:
  RecordFile file_;
};

}  // namespace tessera
