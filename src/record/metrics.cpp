// SPDX-License-Identifier: Apache-2.0
#include "record/metrics.h"

#include <utility>

namespace tessera {
namespace {

// Steps ascend: lines after the step are at the end.
bool is_line_up_to(std::string_view line, int64_t step) {
  const std::optional<StepRecord> record = parse_step(line);
  return record && record->step > 0 && record->step <= step;
}

}  // namespace

MetricsWriter::MetricsWriter(const std::filesystem::path& path, std::optional<int64_t> resumed_step,
                             Warn warn)
    : file_(path, resumed_step.has_value(), std::move(warn),
            [&](std::string_view line) { return is_line_up_to(line, *resumed_step); }) {}

}  // namespace tessera
