// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl: one JSON object per step, one line each, flushed line by line so that a killed run
// loses none. Numbers are written so that reading them gives the same bits.
#pragma once

#include <filesystem>
#include <optional>

#include "files/line_file.h"
#include "record/step_record.h"

namespace tessera {

class MetricsWriter {
 public:
  // Begins a new file; `resumed_step` instead keeps an old one's lines up to that step and
  // continues after them.
  explicit MetricsWriter(const std::filesystem::path& path,
                         std::optional<int64_t> resumed_step = std::nullopt, Warn warn = {});

  void write(const StepRecord& record) { file_.write(to_json_line(record)); }
  std::string losses() const { return file_.losses(); }

 private:
  LineFile file_;
};

}  // namespace tessera
