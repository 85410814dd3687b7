// SPDX-License-Identifier: Apache-2.0
// A file of lines, each written whole as soon as it is known.
#pragma once

#include <string>
#include <utility>

#include "files/record_file.h"

namespace tessera {

// Whether what was written up to this line, newline included, is kept.
using KeepsLine = std::function<bool(std::string_view line)>;

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
