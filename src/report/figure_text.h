// SPDX-License-Identifier: Apache-2.0
// Figures as readable text; an absent one is "not recorded".
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/quantities.h"
#include "record/run_record.h"

namespace tessera {

inline std::string percent_text(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "not recorded";
}

inline std::string seconds_text(std::optional<double> seconds) {
  if (!seconds) return "not recorded";
  if (*seconds > 0 && *seconds < 1e-3) return fmt::format("{:.3g} us", *seconds * 1e6);
  if (*seconds > 0 && *seconds < 1) return fmt::format("{:.3g} ms", *seconds * 1e3);
  return fmt::format("{:.4g} s", *seconds);
}

inline std::string rate_text(std::optional<double> per_second) {
  if (!per_second) return "not recorded";
  if (*per_second >= 1e9) return fmt::format("{:.4g}G", *per_second / 1e9);
  if (*per_second >= 1e6) return fmt::format("{:.4g}M", *per_second / 1e6);
  return fmt::format("{:.0f}", *per_second);
}

inline std::string flops_text(std::optional<double> per_second) {
  if (!per_second) return "not recorded";
  return *per_second < 1e12 ? fmt::format("{:.4g} GFLOP/s", *per_second / 1e9)
                            : fmt::format("{:.4g} TFLOP/s", *per_second / 1e12);
}

// "989 TFLOP/s in bf16, measured by a matmul"
inline std::string peak_text(const RunRecord& record) {
  std::string text = flops_text(record.peak_flops_per_second);
  if (!record.peak_arithmetic.empty()) text += " in " + record.peak_arithmetic;
  return text + (record.peak_measured ? ", measured by a matmul" : "");
}

inline std::string loss_text(std::optional<double> loss) {
  return loss ? fmt::format("{:.4f}", *loss) : "not recorded";
}

inline std::string value_text(Unit unit, std::optional<double> value) {
  switch (unit) {
    case Unit::Seconds:
      return seconds_text(value);
    case Unit::Share:
      return percent_text(value);
    case Unit::PerSecond:
    case Unit::Count:
      return rate_text(value);
    case Unit::Bytes:
      return value ? short_bytes(static_cast<int64_t>(*value)) : "not recorded";
    case Unit::None:
      return loss_text(value);
  }
  return "";
}

}  // namespace tessera
