// SPDX-License-Identifier: Apache-2.0
// Any text as lines of metrics.jsonl and of ranks.jsonl. The quick reader never takes less than the
// JSON library does, and the figures of a line that both take are the same. A line of ranks that is
// taken has a value for each row, and reads back to the same text.
#include <cmath>

#include "files/json.h"
#include "fuzz_input.h"
#include "record/rank_lines.h"
#include "record/scan_step.h"

namespace tessera {
namespace {

bool same_figure(double one, double other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

void check_line(std::string_view line) {
  const std::optional<StepRecord> scanned = scan_step(line);
  Json json;
  if (!parse_json(line, 8, json).empty() || !json.is_object()) return;
  must(scanned.has_value(), "a line that is a JSON object is read");
  for (const StepField& field : step_fields()) {
    const Json* member = json.find(field.key);
    const double value = member ? member->number().value_or(kUnknown) : kUnknown;
    must(same_figure(field.of(*scanned), value), "both readers take the same figures");
  }
}

void check_rank_line(std::string_view text) {
  const std::optional<RankLine> line = parse_rank_line(text);
  if (!line) return;
  const size_t rows = line->rank.size();
  must(rows > 0 && rows <= kMostRankRows && line->compute_seconds.size() == rows &&
           line->exposed_communication_seconds.size() == rows &&
           line->bubble_seconds.size() == rows,
       "a value for each row");
  const std::string printed = to_json_line(*line);
  const std::optional<RankLine> again = parse_rank_line(printed);
  must(again && to_json_line(*again) == printed, "a line of ranks reads back the same");
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::each_line(data, size, [](std::string_view line) {
    tessera::check_line(line);
    tessera::check_rank_line(line);
  });
  return 0;
}
