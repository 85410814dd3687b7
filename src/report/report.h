// SPDX-License-Identifier: Apache-2.0
// The report of a run: its record, its figures, what went wrong and what to try.
#pragma once

#include <map>

#include "record/exchange_record.h"
#include "report/document.h"
#include "report/incidents.h"

namespace tessera {

struct Report {
  RunRecord record;
  RunFigures figures = {};
  std::vector<Stall> stalls = {};
  std::vector<std::string> failures = {};
  std::vector<Finding> findings = {};
  std::map<int, std::vector<ExchangeRecord>> islands = {};  // by island; none for most runs
  std::vector<DocumentPicture> pictures = {};  // of a step; drawn by those who can compile it
};

Report report_on(const std::filesystem::path& folder);

Document document_of(const Report& report);
std::vector<Plot> plots_of(const Report& report);
// Figures that were not recorded are null.
std::string to_json_text(const Report& report);
std::vector<std::string> headlines(const Report& report);  // speed, and where the time went
std::string to_summary(const Report& report);              // these and the problems, for a terminal

// Writes report.md, report.html and report.json into the run's folder and returns their paths.
std::vector<std::filesystem::path> write_report(const Report& report);

inline constexpr const char* kNotRecorded = "not recorded";

}  // namespace tessera
